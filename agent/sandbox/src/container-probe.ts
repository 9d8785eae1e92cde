/** Checks that a container has the expected isolation: never use a weaker sandbox. */
import type { SandboxLimits } from './sandbox.ts'

/** One line each: the user, the capabilities, the interfaces, and the memory limits. */
export const PROBE = [
  'echo "uid $(id -u)"',
  'grep -E "^(CapEff|CapBnd|NoNewPrivs):" /proc/self/status',
  'echo "interfaces $(tail -n +3 /proc/net/dev | cut -d: -f1 | xargs)"',
  'cd /sys/fs/cgroup 2>/dev/null',
  'cat memory.max memory/memory.limit_in_bytes 2>/dev/null | sed "s/^/memory /"',
  'sed -n "s/^MemTotal: *\\([0-9]*\\) kB/memory \\1000/p" /proc/meminfo',
  'touch /made 2>/dev/null && echo made',
].join('\n')

/** The first deviation, for people; null: none. */
export function checkProbe(said: string, { memory_mb }: Pick<SandboxLimits, 'memory_mb'>): string | null {
  const valueOf = (name: RegExp): string | undefined => name.exec(said)?.[1]?.trim()
  const memory = [...said.matchAll(/^memory (\d+)$/gm)].map(([, bytes]) => Number(bytes))
  if (valueOf(/^uid (\d+)$/m) !== '1000') return 'its commands run as the wrong user'
  for (const set of ['CapEff', 'CapBnd'])
    if (!/^0+$/.test(valueOf(new RegExp(`^${set}:(.*)$`, 'm')) ?? '')) return `it keeps capabilities (${set})`
  if (valueOf(/^NoNewPrivs:(.*)$/m) === '0') return 'its commands can gain privileges'
  if (!/^(?:lo)?$/.test(valueOf(/^interfaces(.*)$/m) ?? '?')) return 'it has a network'
  if (/^made$/m.test(said)) return 'its root file system is writable'
  // A value in units of 1000 is slightly smaller than in units of 1024.
  return Math.min(...memory) <= memory_mb * 2 ** 20 ? null : 'its memory is not limited'
}
