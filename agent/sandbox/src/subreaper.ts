/**
 * A small parent that adopts every orphan among its descendants (PR_SET_CHILD_SUBREAPER). Written in Perl,
 * because Node has no prctl(2) and this must run without a compiler. All processes of a command stay its
 * descendants, whatever they do; only one that kills this parent escapes.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { ContainedProcesses, ProcessContainer } from './process-container.ts'
import {
  descendantsOf,
  identify,
  isRunning,
  type ProcessId,
  signalExactly,
  signalProcess,
  until,
} from './processes.ts'
import { COMMAND_PATH, findProgram } from './program.ts'

/** The number of prctl(2), by Node's name of the architecture. */
const PRCTL: Readonly<Record<string, number>> = {
  x64: 157,
  arm64: 167,
  riscv64: 167,
  loong64: 167,
  ia32: 172,
  arm: 172,
  ppc64: 171,
  s390x: 172,
}

/**
 * Exits with its command, on SIGTERM, and with the service (PR_SET_PDEATHSIG is 1). Before, it kills its
 * children until none is left, because children of the killed ones become its own.
 */
const PARENT = `
use strict;
my ($prctl, @argv) = @ARGV;
syscall($prctl, 36, 1, 0, 0, 0) == 0 or die "prctl: $!\\n";
syscall($prctl, 1, 15, 0, 0, 0);
my ($over, $end) = (0, 0);
$SIG{TERM} = sub { $over = 1 };
defined(my $child = fork) or die "fork: $!\\n";
if (!$child) { exec { $argv[0] } @argv; exit 127 }
while (!$over) {
  my $pid = wait;
  ($over, $end) = (1, $?) if $pid == $child;
}
for (;;) {
  my @left;
  opendir(my $threads, "/proc/$$/task") or die "/proc: $!\\n";
  for my $thread (grep { /^\\d/ } readdir $threads) {
    open(my $list, '<', "/proc/$$/task/$thread/children") or next;
    push @left, split ' ', <$list> // '';
  }
  kill 'KILL', @left;
  my $pid = wait;
  $end = $? if $pid == $child;
  last if $pid == -1 && $! != 4;
}
exit($end & 127 ? 128 + ($end & 127) : $end >> 8);
`

const run = promisify(execFile)

/** Null without Perl, or on a kernel that does not list children. */
export async function findSubreaper(path: string | undefined): Promise<ProcessContainer | null> {
  const perl = findProgram('perl', path)
  const prctl = PRCTL[process.arch]
  if (perl === null || prctl === undefined) return null
  const wrap = (argv: readonly string[]) => [perl, '-e', PARENT, String(prctl), ...argv]
  const [file, ...args] = wrap(['bash', '-c', 'test -r "/proc/$$/task/$$/children"']) as [string, ...string[]]
  try {
    await run(file, args, { timeout: 10_000, env: { PATH: COMMAND_PATH } })
  } catch {
    return null
  }
  return {
    kind: 'subreaper',
    loses: 'one that kills the parent which holds it',
    countsApart: false,
    wrap: argv => ({ argv: wrap(argv), hold: ({ pid }) => heldBySubreaper(pid) }),
  }
}

function heldBySubreaper(leader: number): ContainedProcesses {
  const parent = identify(leader)
  const isThere = () => parent !== null && isRunning(parent)
  const seen = new Map<number, ProcessId>()
  const look = (most?: number): number[] => {
    const found = isThere() ? descendantsOf(leader, most) : []
    for (const pid of found) {
      const known = identify(pid)
      if (known !== null) seen.set(pid, known)
    }
    return found
  }
  const kill = (): void => {
    look()
    for (const process of seen.values()) signalExactly(process, 'SIGKILL')
    if (isThere()) signalProcess(leader, 'SIGTERM')
  }
  return {
    members: look,
    kill,
    gone: () =>
      until(() => {
        kill()
        return !isThere() && [...seen.values()].every(process => !isRunning(process))
      }, 'processes of the command are still running and could not be ended'),
  }
}
