/**
 * Limits of one command. The kernel's per-process limits are set by the shell that then becomes the command,
 * and no descendant can raise them.
 *
 * They apply to each process separately. All processes of a command together are limited by a control group
 * if one is delegated, otherwise by the watchdog.
 */
import { release } from 'node:os'
import { workspaceUmask } from '@cairn/workspace'
import type { SandboxLimits } from './sandbox.ts'

/** Commands have a lower priority than the service. */
const NICENESS = 5

/**
 * Since 5.14 the kernel counts the processes of each user namespace separately; before, and without a
 * namespace, it counts all processes of the user. It never counts those of root.
 */
const countsProcesses = (uid = process.getuid?.() ?? 0, kernel: string = release()): boolean => {
  const [major = 0, minor = 0] = kernel.split('.').map(part => Number.parseInt(part, 10))
  return uid !== 0 && (major > 5 || (major === 5 && minor >= 14))
}

/** Node 24 reserves 575 MB of data before its first line runs, and uses 43 of them. */
const RESERVED_MB = 640

/**
 * Data limit of a process: in a small sandbox higher than its total memory limit, because otherwise no
 * JavaScript engine starts.
 */
const dataMb = (memory_mb: number): number => Math.max(memory_mb, Math.min(memory_mb + RESERVED_MB, 1280))

/**
 * The command line that runs `argv` within its limits. Memory is limited as data (RLIMIT_DATA): an address
 * space limit would count reservations, and engines of JavaScript, WebAssembly and Java reserve many
 * gigabytes.
 */
export function limited(
  argv: readonly string[],
  { memory_mb, pids, file_mb, open_files }: SandboxLimits,
  { countsApart, mayGrowFiles }: { countsApart: boolean; mayGrowFiles: boolean },
): readonly string[] {
  const limits = {
    c: 0,
    d: dataMb(memory_mb) * 1024,
    f: mayGrowFiles ? file_mb * 1024 : 0,
    n: open_files,
    ...(countsApart && countsProcesses() ? { u: pids } : {}),
  }
  const umask = workspaceUmask().toString(8).padStart(3, '0')
  // Limits of the service itself cannot be raised here, and apply anyway.
  const set = Object.entries(limits).map(([flag, value]) => `ulimit -${flag} ${value} 2>/dev/null`)
  return ['bash', '-c', `umask ${umask}; ${set.join('; ')}; exec nice -n ${NICENESS} "$@"`, 'limits', ...argv]
}
