/**
 * The system call filter of a bubblewrap sandbox, compiled for `bwrap --seccomp`. Calls that are not refused
 * are allowed, up to the last reviewed one.
 *
 * Other system call ABIs of the processor (32-bit programs, x32) have different numbers, so all of their
 * calls are refused.
 */
import {
  type Architecture,
  AF_INET,
  AF_INET6,
  AF_NETLINK,
  AF_UNIX,
  CHECKED_CALLS,
  FORBIDDEN_CALLS,
  IP_PROTOCOLS,
  LAST_REVIEWED_CALL,
  NETLINK_ROUTE,
  NEW_NAMESPACES,
  UNKNOWN_CALLS,
} from './refused-calls.ts'
import { and, assemble, giveBack, ifAnyBit, ifAtLeast, ifEqual, loadWord, type Program } from './bpf.ts'

/** AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64. */
const AUDIT: Record<Architecture, number> = { x64: 0xc000003e, arm64: 0xc00000b7 }

/** Linux error numbers; os.constants has those of the system that runs this. */
export const ERRNO = {
  EPERM: 1,
  ENOSYS: 38,
  EPROTONOSUPPORT: 93,
  ESOCKTNOSUPPORT: 94,
  EAFNOSUPPORT: 97,
} as const
const refuse = (error: keyof typeof ERRNO): Program => giveBack(0x00050000 | ERRNO[error])
const allow = giveBack(0x7fff0000)

/**
 * Offsets in `struct seccomp_data`. An argument has 64 bits; the ones checked here are ints, the lower 32.
 */
const NUMBER = 0
const ARCHITECTURE = 4
const argument = (index: number): Program => loadWord(16 + 8 * index)

/** A browser's own sandbox creates user, process and network namespaces. */
const NESTED_NAMESPACES = 0x70000000
const CLONE_NEWTIME = 0x80

const SOCK_TYPE_MASK = 0xf
const [SOCK_STREAM, SOCK_DGRAM] = [1, 2]
const internetSocket: Program = [
  ...argument(2),
  ...IP_PROTOCOLS.flatMap(protocol => ifEqual(protocol, allow)),
  ...refuse('EPROTONOSUPPORT'),
]
const internet: Program = [
  ...argument(1),
  ...and(SOCK_TYPE_MASK),
  ...ifEqual(SOCK_STREAM, internetSocket),
  ...ifEqual(SOCK_DGRAM, internetSocket),
  ...refuse('ESOCKTNOSUPPORT'),
]
const socket: Program = [
  ...argument(0),
  ...ifEqual(AF_UNIX, allow),
  ...ifEqual(AF_INET, internet),
  ...ifEqual(AF_INET6, internet),
  ...ifEqual(AF_NETLINK, argument(2), ifEqual(NETLINK_ROUTE, allow), refuse('EPROTONOSUPPORT')),
  ...refuse('EAFNOSUPPORT'),
]
const socketpair: Program = [...argument(0), ...ifEqual(AF_UNIX, allow), ...refuse('EAFNOSUPPORT')]

/** These write into a terminal's input, which another program reads as typed. */
const [TIOCSTI, TIOCLINUX] = [0x5412, 0x541c]
const ioctl: Program = [
  ...argument(1),
  ...ifEqual(TIOCSTI, refuse('EPERM')),
  ...ifEqual(TIOCLINUX, refuse('EPERM')),
  ...allow,
]

/** -1 queries the current one. PER_LINUX32, UNAME26 and ADDR_NO_RANDOMIZE weaken no other process. */
const personality: Program = [
  ...argument(0),
  ...ifEqual(0xffffffff, allow),
  ...ifAnyBit(~0x00060008, refuse('EPERM')),
  ...allow,
]

const withFlags = (refused: number): Program => [
  ...argument(0),
  ...ifAnyBit(refused, refuse('EPERM')),
  ...allow,
]

export const isArchitecture = (name: string): name is Architecture => Object.hasOwn(AUDIT, name)

/** `nests`: the program creates its own namespaces, as a browser's sandbox does. */
export function seccompProgram(architecture: Architecture, { nests }: { nests: boolean }): Program {
  const refusedNamespaces = nests ? NEW_NAMESPACES & ~NESTED_NAMESPACES : NEW_NAMESPACES
  const checked: Record<keyof typeof CHECKED_CALLS, Program> = {
    clone: withFlags(refusedNamespaces),
    socket,
    socketpair,
    ioctl,
    personality,
  }
  const rows: [number | null, Program][] = [
    ...Object.entries(CHECKED_CALLS).map(([name, numbers]): [number | null, Program] => [
      numbers[architecture],
      checked[name as keyof typeof CHECKED_CALLS],
    ]),
    ...(nests
      ? [
          [FORBIDDEN_CALLS.unshare[architecture], withFlags(refusedNamespaces | CLONE_NEWTIME)] satisfies [
            number,
            Program,
          ],
        ]
      : []),
    ...Object.values(FORBIDDEN_CALLS).map((numbers): [number | null, Program] => [
      numbers[architecture],
      refuse('EPERM'),
    ]),
    ...Object.values(UNKNOWN_CALLS).map((numbers): [number | null, Program] => [
      numbers[architecture],
      refuse('ENOSYS'),
    ]),
  ]
  return [
    ...loadWord(ARCHITECTURE),
    ...ifEqual(AUDIT[architecture], loadWord(NUMBER), [
      ...rows.flatMap(([number, body]) => (number === null ? [] : ifEqual(number, body))),
      // x32 calls start at 0x40000000, so they are refused as well.
      ...ifAtLeast(LAST_REVIEWED_CALL + 1, refuse('ENOSYS')),
      ...allow,
    ]),
    ...refuse('ENOSYS'),
  ]
}

export const seccompFilter = (architecture: Architecture, kind: { nests: boolean }): Buffer =>
  assemble(seccompProgram(architecture, kind))
