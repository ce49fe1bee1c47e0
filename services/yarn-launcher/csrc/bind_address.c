/* Lets servers that would listen at every address of a machine listen at one.
 *
 * Loaded before other libraries (LD_PRELOAD), it stands in the place of bind() and listen(). A TCP
 * socket that is bound to the wildcard (0.0.0.0 or ::), or that listens without having been bound,
 * gets the address in AUDIOLOOM_BIND_ADDRESS and keeps its port. Other addresses are the program's
 * own choice and stay, and so do sockets of UDP, by which names are looked up.
 *
 * The kernel is asked directly: glibc's own functions do nothing else, and no symbol of a young
 * glibc is needed.
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

/* The address as sockets of each family take it. */
static struct in_addr address4;
static struct in6_addr address6;
static int known, is6;

__attribute__((constructor)) static void read_address(void) {
    const char *text = getenv("AUDIOLOOM_BIND_ADDRESS");
    if (!text)
        return;
    address4.s_addr = htonl(INADDR_LOOPBACK);
    if (inet_pton(AF_INET, text, &address4) == 1) {
        address6.s6_addr[10] = address6.s6_addr[11] = 0xff; /* ::ffff:a.b.c.d */
        memcpy(&address6.s6_addr[12], &address4, sizeof address4);
        known = 1;
    } else if (inet_pton(AF_INET6, text, &address6) == 1)
        known = is6 = 1; /* which no socket of IPv4 can take: it gets 127.0.0.1 */
}

static int option(int socket, int level, int name) {
    int value = 0;
    socklen_t length = sizeof value;
    return getsockopt(socket, level, name, &value, &length) ? -1 : value;
}

static int is_wildcard6(const struct in6_addr *address) {
    static const struct in6_addr mapped = {{{[10] = 0xff, [11] = 0xff}}};
    return IN6_IS_ADDR_UNSPECIFIED(address) || !memcmp(address, &mapped, sizeof mapped);
}

/* A socket of IPv6 alone cannot take an address of IPv4. Nobody could reach it there either: it
 * gets ::1, so that a server which opens one socket for each family still starts. */
static struct in6_addr address6_for(int socket) {
    return !is6 && option(socket, IPPROTO_IPV6, IPV6_V6ONLY) == 1 ? in6addr_loopback : address6;
}

static int bind_instead(int socket, const struct sockaddr *address, socklen_t length) {
    union {
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } mine = {.six = {0}};
    if (known && address && length >= sizeof mine.four
        && option(socket, SOL_SOCKET, SO_TYPE) == SOCK_STREAM) {
        int family = address->sa_family;
        memcpy(&mine, address, length < sizeof mine ? length : sizeof mine);
        if (family == AF_INET6 && length > sizeof mine.four && is_wildcard6(&mine.six.sin6_addr)) {
            mine.six.sin6_addr = address6_for(socket);
            return syscall(SYS_bind, socket, &mine, sizeof mine.six);
        }
        /* Linux takes 0.0.0.0 of no family for one of IPv4. */
        if ((family == AF_INET || family == AF_UNSPEC) && !mine.four.sin_addr.s_addr) {
            mine.four.sin_family = AF_INET;
            mine.four.sin_addr = address4;
            return syscall(SYS_bind, socket, &mine, sizeof mine.four);
        }
    }
    return syscall(SYS_bind, socket, address, length);
}

SHOWN int bind(int socket, const struct sockaddr *address, socklen_t length) {
    return bind_instead(socket, address, length);
}

/* A socket that was never bound has no port: the kernel would give it one at every address. */
SHOWN int listen(int socket, int backlog) {
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
        struct sockaddr_storage all;
    } bound = {0};
    socklen_t length = sizeof bound;
    if (known && !getsockname(socket, &bound.any, &length)
        && ((bound.any.sa_family == AF_INET && !bound.four.sin_port)
            || (bound.any.sa_family == AF_INET6 && !bound.six.sin6_port))
        && bind_instead(socket, &bound.any, length))
        return -1;
    return syscall(SYS_listen, socket, backlog);
}
