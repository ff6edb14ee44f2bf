/* Tell what ran since one last looked: edges of the compiled core, and lines of its Python sources.

Loaded before Python (LD_PRELOAD). Modules built with clang's `-fsanitize-coverage=inline-8bit-counters` hand their
counters over as they are loaded; lines are heard of through the interpreter's trace function. */
#include <Python.h>
#include <frameobject.h>
#include <string.h>

#define MOST_MODULES 512
#define MOST_LINES (1u << 20)

static uint8_t* begins[MOST_MODULES];
static uint8_t* ends[MOST_MODULES];
static int modules;

void __sanitizer_cov_8bit_counters_init(uint8_t* begin, uint8_t* end) {
    for (int i = 0; i < modules; i++)
        if (begins[i] == begin) return;
    if (begin == end || modules == MOST_MODULES) return;
    begins[modules] = begin;
    ends[modules++] = end;
}

/* Lines of a code object have places from `first` on; 0: its file is none of ours. */
typedef struct { uint32_t first; int line; int count; } Lines;
static uint8_t seen[MOST_LINES];
static uint32_t lines = 1;
static Lines foreign;
static Py_ssize_t extra = -1;
static const char* root;
static FILE* names;

static Lines* lines_of(PyCodeObject* code) {
    void* found = NULL;
    _PyCode_GetExtra((PyObject*)code, extra, &found);
    if (found) return found;
    const char* file = PyUnicode_AsUTF8(code->co_filename);
    Lines* made = &foreign;
    if (file && !strncmp(file, root, strlen(root))) {
        int last = code->co_firstlineno;
        for (int at = 0; at < Py_SIZE(code) * (int)sizeof(_Py_CODEUNIT); at += 2) {
            int line = PyCode_Addr2Line(code, at);
            if (line > last) last = line;
        }
        int count = last - code->co_firstlineno + 1;
        if (lines + count < MOST_LINES) {
            made = malloc(sizeof *made);
            *made = (Lines){lines, code->co_firstlineno, count};
            fprintf(names, "%u %d %d %s\n", lines, made->line, count, file + strlen(root));
            fflush(names);
            lines += count;
        }
    }
    _PyCode_SetExtra((PyObject*)code, extra, made);
    return made;
}

static int trace(PyObject* self, PyFrameObject* frame, int what, PyObject* value) {
    if (what != PyTrace_LINE) return 0;
    PyCodeObject* code = PyFrame_GetCode(frame);
    Lines* own = lines_of(code);
    if (own->first) {
        int at = PyFrame_GetLineNumber(frame) - own->line;
        if (at >= 0 && at < own->count) seen[own->first + at] = 1;
    }
    Py_DECREF(code);
    return 0;
}

/* Begin to hear of lines of files below a folder; `file` takes where the lines of each code object are. */
void reach_begin(const char* folder, const char* file) {
    root = strdup(folder);
    names = fopen(file, "w");
    extra = _PyEval_RequestCodeExtraIndex(NULL);
}
void reach_trace(int on) { PyEval_SetTrace(on ? trace : NULL, NULL); }

void reach_clear(void) {
    memset(seen, 0, lines);
    for (int i = 0; i < modules; i++) memset(begins[i], 0, ends[i] - begins[i]);
}

/* Write the places of what ran since the last clear: lines below MOST_LINES, edges from there on. */
long reach_read(uint32_t* places, long most) {
    long found = 0;
    for (uint32_t i = 1; i < lines && found < most; i++)
        if (seen[i]) places[found++] = i;
    uint32_t base = MOST_LINES;
    for (int m = 0; m < modules; m++) {
        long count = ends[m] - begins[m], i = 0;
        for (; i < count && found < most; i++) {
            if (!(i & 7) && i + 8 <= count && !*(const uint64_t*)(begins[m] + i)) { i += 7; continue; }
            if (begins[m][i]) places[found++] = base + (uint32_t)i;
        }
        base += (uint32_t)count;
    }
    return found;
}
