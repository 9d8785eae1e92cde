/**
 * The seccomp profile of a container: podman's own without the calls of refused-calls.ts. Access to another
 * process would let a command take over init, which ends the container with its service.
 */
import { z } from 'zod'
import {
  AF_INET,
  AF_INET6,
  AF_NETLINK,
  AF_UNIX,
  FORBIDDEN_CALLS,
  IP_PROTOCOLS,
  NETLINK_ROUTE,
  NEW_NAMESPACES,
  UNKNOWN_CALLS,
} from './refused-calls.ts'

const Rule = z.looseObject({ names: z.array(z.string()), action: z.string() })
const Profile = z.looseObject({ syscalls: z.array(Rule) })

/** socketcall(2) of 32-bit programs has the family in memory, where no rule can read it. */
const WITHOUT_NUMBERS = ['umount', 'socketcall']
const REFUSED: ReadonlySet<string> = new Set([
  ...Object.keys(FORBIDDEN_CALLS),
  ...Object.keys(UNKNOWN_CALLS),
  ...WITHOUT_NUMBERS,
])
/** Our rules replace all of podman's rules for these. */
const REPLACED: ReadonlySet<string> = new Set(['clone', 'socket', 'socketpair'])

/**
 * gVisor looks up rules by its own names, and this one differs from the kernel's. Without it select(2), which
 * the forwarder uses, is refused there.
 */
const GVISOR_NAMES: Readonly<Record<string, string>> = { pselect6: 'pselect' }
const known = (name: string): string[] => {
  const other = GVISOR_NAMES[name]
  return other === undefined ? [name] : [name, other]
}

const PLAIN_CLONE = {
  names: ['clone'],
  action: 'SCMP_ACT_ALLOW',
  args: [{ index: 0, value: NEW_NAMESPACES, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }],
}

type Check = readonly [index: number, value: number]
const allowedWhere = (name: string, ...checks: Check[]) => ({
  names: [name],
  action: 'SCMP_ACT_ALLOW',
  args: checks.map(([index, value]) => ({ index, value, valueTwo: 0, op: 'SCMP_CMP_EQ' })),
})
const SOCKETS = [
  allowedWhere('socket', [0, AF_UNIX]),
  ...[AF_INET, AF_INET6].flatMap(family =>
    IP_PROTOCOLS.map(protocol => allowedWhere('socket', [0, family], [2, protocol])),
  ),
  allowedWhere('socket', [0, AF_NETLINK], [2, NETLINK_ROUTE]),
  allowedWhere('socketpair', [0, AF_UNIX]),
]

/**
 * Unlisted calls are refused as if the kernel did not know them (podman's default), so that the C library
 * falls back from clone3 to clone.
 */
export function narrowedProfile(json: string): string {
  const profile = Profile.parse(JSON.parse(json))
  const kept = profile.syscalls
    .map(rule => ({ ...rule, names: rule.names.filter(name => !REPLACED.has(name)) }))
    .map(rule =>
      rule.action === 'SCMP_ACT_ALLOW'
        ? { ...rule, names: rule.names.filter(name => !REFUSED.has(name)).flatMap(known) }
        : rule,
    )
  return JSON.stringify({
    ...profile,
    syscalls: [...kept.filter(({ names }) => names.length > 0), PLAIN_CLONE, ...SOCKETS],
  })
}
