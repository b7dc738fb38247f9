/*
 * The short way into a kernel, for calls whose arrays are just as they should be. Called with the GIL, which it gives
 * away while the kernel runs. Of Python it needs only what its stable ABI has, so the declarations stand here: the
 * headers of Python are not everywhere where a compiler is.
 */
#include <stddef.h>
#include <string.h>

typedef struct {
    void *buf, *obj;
    ptrdiff_t len, itemsize;
    int readonly, ndim;
    char *format;
    ptrdiff_t *shape, *strides, *suboffsets;
    void *internal;
} Py_buffer;

int PyObject_GetBuffer(void *object, Py_buffer *view, int how);
void PyBuffer_Release(Py_buffer *view);
void *PyEval_SaveThread(void);
void PyEval_RestoreThread(void *state);
void PyErr_Clear(void);
void *PyTuple_GetItem(void *tuple, ptrdiff_t number);
ptrdiff_t PyTuple_Size(void *tuple);
void *PyObject_Type(void *object);
void Py_DecRef(void *object);

/* Without strides, so that only C-contiguous arrays are given. */
enum { WRITABLE = 1, FORMAT = 4, SHAPE = 8 };
enum { MOST = 16, NOT_AS_IT_SHOULD_BE = -1 };

typedef struct {
    const char *format; /* of an element */
    long axes;
    const ptrdiff_t *shape;
} tw_place;

typedef struct {
    int (*run)(void *const *arrays);
    const void *type; /* of every array */
    long inputs;
    const tw_place *places; /* the inputs', then the output's */
} tw_entry;

static int fits(const tw_entry *entry, const tw_place *place, void *array, Py_buffer *view, int how)
{
    void *type = PyObject_Type(array);
    Py_DecRef(type);
    if (type != entry->type)
        return 0;
    if (PyObject_GetBuffer(array, view, how)) {
        PyErr_Clear();
        return 0;
    }
    int same = view->ndim == place->axes && !strcmp(view->format, place->format);
    for (long axis = 0; same && axis < place->axes; ++axis)
        same = view->shape[axis] == place->shape[axis];
    if (!same)
        PyBuffer_Release(view);
    return same;
}

/*
 * What the kernel returns for a tuple of inputs and the output. NOT_AS_IT_SHOULD_BE, without a call, where one of them
 * is of another type, shape or dtype, is not C-contiguous or not writable, or where the output overlaps an input.
 */
int tw_enter(const tw_entry *entry, void *inputs, void *output)
{
    Py_buffer views[MOST];
    void *arrays[MOST];
    long held = 0;
    int found = NOT_AS_IT_SHOULD_BE;
    if (PyTuple_Size(inputs) != entry->inputs)
        return found;
    while (held < entry->inputs
           && fits(entry, &entry->places[held], PyTuple_GetItem(inputs, held), &views[held], FORMAT | SHAPE))
        ++held;
    if (held < entry->inputs || !fits(entry, &entry->places[held], output, &views[held], FORMAT | SHAPE | WRITABLE))
        goto done;
    const char *y = views[held++].buf, *y_end = y + views[held - 1].len;
    for (long number = 0; number < held; ++number) {
        const char *x = arrays[number] = views[number].buf;
        if (number < entry->inputs && x < y_end && y < x + views[number].len)
            goto done;
    }
    void *const state = PyEval_SaveThread();
    found = entry->run(arrays);
    PyEval_RestoreThread(state);
done:
    while (held)
        PyBuffer_Release(&views[--held]);
    return found;
}
