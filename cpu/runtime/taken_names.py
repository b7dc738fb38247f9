"""The names that no exported function may have, since C, C++ or a C library takes them.

A program that defines one of them does not compile, or its library takes the place of the C library's function.
"""

from __future__ import annotations

import re

# The reserved words of C and C++.
_WORDS = """
    alignas alignof and asm auto bool break case catch char class const constexpr continue decltype default delete do
    double else enum explicit export extern false float for friend goto if inline int long main mutable namespace new
    noexcept not nullptr operator or private protected public register restrict return short signed sizeof static struct
    switch template this throw true try typedef typeid typename union unsigned using virtual void volatile while xor
"""
# The functions of math.h; each is there for double, float and long double.
_MATH = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem erf erfc exp exp2 expm1 fabs fdim finite
    floor fma fmax fmin fmod frexp gamma hypot ilogb isinf isnan j0 j1 jn ldexp lgamma llrint llround log log10 log1p
    log2 logb lrint lround modf nan nearbyint nextafter nexttoward pow remainder remquo rint round scalb scalbln scalbn
    significand sin sinh sqrt tan tanh tgamma trunc y0 y1 yn
"""
# What else gcc 12 and glibc declare, as gnu11, in stdint.h, stddef.h, stdio.h, stdlib.h, string.h, math.h, time.h,
# sys/mman.h and unistd.h, which the emitted files include.
_LIBRARY = """
    a64l abort abs access acct alarm aligned_alloc alloca arc4random arc4random_buf arc4random_uniform asctime asctime_r
    at_quick_exit atexit atof atoi atol atoll bcmp bcopy be16toh be32toh be64toh brk bsearch bzero calloc chdir chown
    chroot clearenv clearerr clearerr_unlocked clock clock_getcpuclockid clock_getres clock_gettime clock_nanosleep
    clock_settime close closefrom confstr crypt ctermid ctime ctime_r daemon daylight difftime div dprintf drand48
    drand48_r dup dup2 dysize ecvt ecvt_r endusershell erand48 erand48_r execl execle execlp execv execve execvp exit
    explicit_bzero faccessat fchdir fchown fchownat fclose fcvt fcvt_r fd_mask fdatasync fdopen feof feof_unlocked
    ferror ferror_unlocked fexecve fflush fflush_unlocked ffs ffsl ffsll fgetc fgetc_unlocked fgetpos fgets fileno
    fileno_unlocked flockfile fmemopen fopen fork fpathconf fpclassify fprintf fputc fputc_unlocked fputs fread
    fread_unlocked free freopen fscanf fseek fseeko fsetpos fsync ftell ftello ftruncate ftrylockfile funlockfile fwrite
    fwrite_unlocked gcvt getc getc_unlocked getchar getchar_unlocked getcwd getdelim getdomainname getdtablesize getegid
    getentropy getenv geteuid getgid getgroups gethostid gethostname getline getloadavg getlogin getlogin_r getopt
    getpagesize getpass getpgid getpgrp getpid getppid getsid getsubopt getuid getusershell getw getwd gmtime gmtime_r
    htobe16 htobe32 htobe64 htole16 htole32 htole64 index initstate initstate_r isatty isfinite isgreater isgreaterequal
    isless islessequal islessgreater isnormal isunordered jrand48 jrand48_r l64a labs lchown lcong48 lcong48_r ldiv
    le16toh le32toh le64toh lgamma_r lgammaf_r lgammal_r link linkat linux llabs lldiv localtime localtime_r lockf
    lrand48 lrand48_r lseek madvise malloc math_errhandling mblen mbstowcs mbtowc memccpy memchr memcmp memcpy memmove
    memset mincore mkdtemp mkstemp mkstemps mktemp mktime mlock mlockall mmap mprotect mrand48 mrand48_r msync munlock
    munlockall munmap nanosleep nice nrand48 nrand48_r offsetof on_exit open_memstream optarg opterr optind optopt
    pathconf pause pclose perror pipe popen posix_madvise posix_memalign pread printf profil pselect putc putc_unlocked
    putchar putchar_unlocked putenv puts putw pwrite qecvt qecvt_r qfcvt qfcvt_r qgcvt qsort quick_exit rand rand_r
    random random_r read readlink readlinkat realloc reallocarray realpath remove rename renameat revoke rewind rindex
    rmdir rpmatch sbrk scanf seed48 seed48_r select setbuf setbuffer setdomainname setegid setenv seteuid setgid
    sethostid sethostname setlinebuf setlogin setpgid setpgrp setregid setreuid setsid setstate setstate_r setuid
    setusershell setvbuf shm_open shm_unlink signbit signgam sleep snprintf sprintf srand srand48 srand48_r srandom
    srandom_r sscanf stderr stdin stdout stpcpy stpncpy strcasecmp strcasecmp_l strcat strchr strcmp strcoll strcoll_l
    strcpy strcspn strdup strerror strerror_l strerror_r strftime strftime_l strlen strncasecmp strncasecmp_l strncat
    strncmp strncpy strndup strnlen strpbrk strrchr strsep strsignal strspn strstr strtod strtof strtok strtok_r strtol
    strtold strtoll strtoq strtoul strtoull strtouq strxfrm strxfrm_l symlink symlinkat sync syscall sysconf system
    tcgetpgrp tcsetpgrp tempnam time timegm timelocal timer_create timer_delete timer_getoverrun timer_gettime
    timer_settime timespec_get timezone tmpfile tmpnam tmpnam_r truncate ttyname ttyname_r ttyslot tzname tzset u_char
    u_int u_long u_short ualarm uint ulong ungetc unix unlink unlinkat unsetenv ushort usleep va_list valloc vdprintf
    vfork vfprintf vfscanf vhangup vprintf vscanf vsnprintf vsprintf vsscanf wcstombs wctomb write
"""
# Macros of these headers, and the functions of the emitted example.
_OTHERS = "BUFSIZ EOF FILE INFINITY NAN NULL RAND_MAX array bf16 now"
_TAKEN = frozenset(
    [
        *(_WORDS + _LIBRARY + _OTHERS).split(),
        *(name + precision for name in _MATH.split() for precision in ("", "f", "l")),
    ]
)
# POSIX keeps names that end with _t for its types.
_FAMILIES = re.compile("(omp|pthread)_.*|.*_t")


def is_taken(name: str) -> bool:
    """Whether a name stands for something else in C, in C++ or in the emitted files."""
    return name in _TAKEN or _FAMILIES.fullmatch(name) is not None
