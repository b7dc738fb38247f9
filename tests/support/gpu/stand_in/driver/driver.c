/* A driver that computes nothing and prints what it is asked, for a device of 100 multiprocessors. */
#include "cuda.h"

#include <stdio.h>
#include <string.h>

int arguments_of_launch[8]; /* of each kernel that is launched, in this order; set by the program */
static int launches, modules, functions, maps;
static const CUtensorMap *encoded_maps[8];
static char names[8][300];

CUresult cuDriverGetVersion(int *version) { return *version = 13010, CUDA_SUCCESS; }
CUresult cuCtxGetDevice(CUdevice *device) { return *device = 0, CUDA_SUCCESS; }
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    (void)attribute, (void)device;
    return *value = 100, CUDA_SUCCESS;
}
CUresult cuModuleLoad(CUmodule *module, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
    fclose(file);
    *module = (CUmodule)(uintptr_t)++modules;
    return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule module) { return printf("unload %d\n", (int)(uintptr_t)module), CUDA_SUCCESS; }
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    (void)module;
    strcpy(names[++functions], name);
    *function = (CUfunction)(uintptr_t)functions;
    return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    printf("attribute %s %d %d\n", names[(uintptr_t)function], attribute, value);
    return CUDA_SUCCESS;
}
CUresult cuMemAlloc(CUdeviceptr *pointer, size_t bytes)
{
    printf("memory %zu\n", bytes);
    return *pointer = 1 << 20, CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr pointer) { return printf("free %llu\n", pointer - (1 << 20)), CUDA_SUCCESS; }
CUresult cuMemsetD32(CUdeviceptr pointer, unsigned value, size_t count)
{
    printf("set %llu %u %zu\n", pointer - (1 << 20), value, count);
    return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
    (void)to;
    printf("read %llu %zu\n", from - (1 << 20), bytes);
    return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void **arguments,
                        void **extra)
{
    (void)stream, (void)extra;
    for (int i = 0; i < maps; ++i) printf("second word %llx\n", (unsigned long long)encoded_maps[i]->opaque[1]);
    maps = 0;
    printf("launch %s %u %u %u:", names[(uintptr_t)function], grid_x * grid_y * grid_z, block_x * block_y * block_z, shared_bytes);
    for (int i = 0; i < arguments_of_launch[launches]; ++i) printf(" %llu", *(unsigned long long *)arguments[i]);
    puts("");
    ++launches;
    return CUDA_SUCCESS;
}
/* A map's first word is the address that it was made of: what a launch prints of it. */
static CUresult encoded(CUtensorMap *map, const char *kind, int type, cuuint32_t rank, void *address,
                        const cuuint64_t *dims, const cuuint64_t *strides)
{
    map->opaque[0] = (uintptr_t)address;
    map->opaque[1] = ~0ull;
    encoded_maps[maps++] = map;
    printf("map %s %d", kind, type);
    for (cuuint32_t i = 0; i < rank; ++i) printf(" %llu", (unsigned long long)dims[i]);
    for (cuuint32_t i = 0; i + 1 < rank; ++i) printf(" /%llu", (unsigned long long)strides[i]);
    return CUDA_SUCCESS;
}
CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                const cuuint64_t *dims, const cuuint64_t *strides, const cuuint32_t *box,
                                const cuuint32_t *steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    encoded(map, "tiled", type, rank, address, dims, strides);
    for (cuuint32_t i = 0; i < rank; ++i) printf(" [%u %u]", box[i], steps[i]);
    return printf(" %d %d %d %d\n", interleave, swizzle, promotion, fill), CUDA_SUCCESS;
}
CUresult cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                 const cuuint64_t *dims, const cuuint64_t *strides, const int *lower, const int *upper,
                                 cuuint32_t channels, cuuint32_t pixels, const cuuint32_t *steps,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    encoded(map, "im2col", type, rank, address, dims, strides);
    printf(" [%d %d] [%d %d] %u %u", lower[0], lower[1], upper[0], upper[1], channels, pixels);
    for (cuuint32_t i = 0; i < rank; ++i) printf(" %u", steps[i]);
    return printf(" %d %d %d %d\n", interleave, swizzle, promotion, fill), CUDA_SUCCESS;
}
