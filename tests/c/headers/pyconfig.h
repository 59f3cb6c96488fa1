/* CPython's configuration on systems that are not at hand, by what clang says of each: as much of
 * it as headers ask for that extensions include. */
#define SIZEOF_SHORT __SIZEOF_SHORT__
#define SIZEOF_INT __SIZEOF_INT__
#define SIZEOF_LONG __SIZEOF_LONG__
#define SIZEOF_LONG_LONG __SIZEOF_LONG_LONG__
#define SIZEOF_FLOAT __SIZEOF_FLOAT__
#define SIZEOF_DOUBLE __SIZEOF_DOUBLE__
#define SIZEOF_VOID_P __SIZEOF_POINTER__
#define SIZEOF_SIZE_T __SIZEOF_SIZE_T__
#define SIZEOF_WCHAR_T __SIZEOF_WCHAR_T__
#define SIZEOF_PID_T 4
#define SIZEOF_TIME_T 8
#define SIZEOF__BOOL 1
#define ALIGNOF_LONG __SIZEOF_LONG__
#define ALIGNOF_SIZE_T __SIZEOF_SIZE_T__
#define ALIGNOF_MAX_ALIGN_T __BIGGEST_ALIGNMENT__
#define HAVE_ERRNO_H 1
#define HAVE_STDDEF_H 1
#define HAVE_SYS_STAT_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_WCHAR_H 1
#define STDC_HEADERS 1
#define WITH_DOC_STRINGS 1
#ifdef _WIN32
#define HAVE_DECLSPEC_DLL 1
#define MS_WIN32
#define MS_WIN64
#define MS_WINDOWS
#define NT_THREADS
#define Py_ENABLE_SHARED 1
#else
#define _GNU_SOURCE 1
#define HAVE_PTHREAD_H 1
#define HAVE_SSIZE_T 1
#define HAVE_SYS_TIME_H 1
#define HAVE_UNISTD_H 1
#define SIZEOF_PTHREAD_T 8
#endif
