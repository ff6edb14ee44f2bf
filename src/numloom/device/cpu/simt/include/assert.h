// As NVRTC and the C library have it, but a failure ends the launch, not the process. Included any number of times.
#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) \
    ((condition) ? (void)0 : numloom::failed_assertion(#condition, __func__, __FILE__, __LINE__))
#endif
