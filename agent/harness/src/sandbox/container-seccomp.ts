/**
 * The system calls of a container: podman's own list, without those that make or join namespaces, mount, use
 * the kernel's keys, or reach into another process. The first are most of what a box needs of the kernel to
 * get out of it; the last would let a command take over init, which ends the container with its service.
 */
import { z } from 'zod'

const Rule = z.looseObject({ names: z.array(z.string()), action: z.string() })
const Profile = z.looseObject({ syscalls: z.array(Rule) })

const REFUSED: ReadonlySet<string> = new Set([
  'unshare',
  'setns',
  'clone3',
  'mount',
  'umount',
  'umount2',
  'pivot_root',
  'mount_setattr',
  'move_mount',
  'open_tree',
  'fsopen',
  'fsconfig',
  'fsmount',
  'fspick',
  'keyctl',
  'add_key',
  'request_key',
  'ptrace',
  'process_vm_readv',
  'process_vm_writev',
  'pidfd_getfd',
])

/**
 * gVisor looks rules up by names of its own, and this one differs from the kernel's. Without it select(2) is
 * refused there, on which the forwarder waits.
 */
const GVISOR_NAMES: Readonly<Record<string, string>> = { pselect6: 'pselect' }
const known = (name: string): string[] => {
  const other = GVISOR_NAMES[name]
  return other === undefined ? [name] : [name, other]
}

/** The flags of clone(2) that ask for a namespace. A new process asks for none. */
const NEW_NAMESPACES = 0x7e020000
const PLAIN_CLONE = {
  names: ['clone'],
  action: 'SCMP_ACT_ALLOW',
  args: [{ index: 0, value: NEW_NAMESPACES, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }],
}

/**
 * What is not named is refused as if the kernel did not know it (podman's default), so that the C library
 * uses clone where clone3 is gone.
 */
export function narrowedProfile(json: string): string {
  const profile = Profile.parse(JSON.parse(json))
  const kept = profile.syscalls.map(rule =>
    rule.action === 'SCMP_ACT_ALLOW'
      ? { ...rule, names: rule.names.filter(name => name !== 'clone' && !REFUSED.has(name)).flatMap(known) }
      : rule,
  )
  return JSON.stringify({
    ...profile,
    syscalls: [...kept.filter(({ names }) => names.length > 0), PLAIN_CLONE],
  })
}
