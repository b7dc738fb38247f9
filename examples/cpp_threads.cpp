// A saved kernel called by the threads of a C++ program, each with an image of its own and the same packed weights.
// examples/cpp_threads.py saves the kernel, compiles this and runs it.

#include <cmath>
#include <cstdio>
#include <thread>
#include <vector>

#include "layer.h"

constexpr int THREADS = 4;
constexpr long X = 1L * 14 * 14 * 32, W = 32L * 32 * 3 * 3, Y = 1L * 14 * 14 * 32;

int main()
{
    if (!layer_supported()) {
        std::puts("this CPU lacks the instructions that the kernel was compiled for");
        return 1;
    }
    std::vector<float> weights(W), packed(LAYER_PACKED);
    for (long i = 0; i < W; ++i) weights[i] = i % 7 - 3;
    layer_pack(weights.data(), packed.data());  // once, for all threads and calls

    std::vector<std::vector<float>> outputs(THREADS, std::vector<float>(Y));
    std::vector<std::thread> threads;
    for (int number = 0; number < THREADS; ++number)
        threads.emplace_back([&, number] {
            std::vector<float> image(X);
            for (long i = 0; i < X; ++i) image[i] = (i + number) % 5 - 2;
            layer(image.data(), packed.data(), outputs[number].data());
        });
    for (auto &thread : threads) thread.join();

    for (int number = 0; number < THREADS; ++number) {
        double sum = 0;
        for (float value : outputs[number]) sum += value;
        std::printf("image %d: sum %.0f\n", number, sum);
    }
}
