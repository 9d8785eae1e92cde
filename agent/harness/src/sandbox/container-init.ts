/**
 * The first process of a container: it holds a leash, a unix socket of the service that is open for as long
 * as both live. podman's containers outlive who started them, and a service that is killed can end nothing:
 * so init ends when the leash does, and the kernel ends all others with it.
 *
 * The leash also brings the environment, which a command line or podman's own files would keep, and the wish
 * to end; and it takes the outcome. What runs in the container has init's user: it can lie about itself and
 * cannot make itself outlive the next start of a service, which removes what is left (reapContainers).
 */
import { COMMAND_PATH } from './program.ts'

export const SUPERVISOR_IN_SANDBOX = '/run/cairn/leash'

/**
 * Arguments: the socket, and the command. A control group kills one process of those that use too much
 * memory; half a build that goes on is of no use, so init ends them all.
 */
const INIT = `
use strict; use Socket; use POSIX ':sys_wait_h';
my ($at, @argv) = @ARGV; my $leash;
socket($leash, PF_UNIX, SOCK_STREAM, 0) && connect($leash, pack_sockaddr_un($at)) or exit 125;
my $text = '';
until ($text =~ /\\0\\0\\z/) { sysread($leash, $text, 65536, length $text) or exit 125 }
%ENV = map { split /=/, $_, 2 } grep { length } split /\\0/, $text;
my ($events) = grep { -r } qw(/sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control);
sub overran { open(my $f, '<', $events // '') or return 0; scalar grep { /^oom_kill [1-9]/ } <$f> }
sub over { syswrite($leash, join(' ', @_) . "\\n"); exit $_[0] }
$SIG{TERM} = $SIG{INT} = $SIG{HUP} = 'IGNORE'; $SIG{CHLD} = sub {};
defined(my $child = fork) or exit 125;
unless ($child) { $SIG{$_} = 'DEFAULT' for qw(TERM INT HUP CHLD); exec { $argv[0] } @argv; exit 127 }
for (;;) {
  while ((my $dead = waitpid(-1, WNOHANG)) > 0) {
    over($? & 127 ? 128 + ($? & 127) : $? >> 8, overran() ? 'memory' : ()) if $dead == $child;
  }
  over(137, 'memory') if overran();
  vec(my $ready = '', fileno $leash, 1) = 1;
  next unless select($ready, undef, undef, 0.2) > 0;
  sysread($leash, my $wish, 1) or exit 137;
  kill 'TERM', -1;
}
`

export const behindInit = (argv: readonly string[]): readonly string[] => [
  'perl',
  '-e',
  INIT,
  SUPERVISOR_IN_SANDBOX,
  ...argv,
]

/** A byte on the leash: everything in the container is asked to end. */
export const ASK_TO_END = 'T'

/** The first message on the leash. A variable without a name cannot be set, nor one with a null byte. */
export const environmentMessage = (env: Readonly<Record<string, string>>): string =>
  Object.entries({ PATH: COMMAND_PATH, ...env })
    .filter(([name, value]) => /^[^=\0]+$/.test(name) && !value.includes('\0'))
    .map(([name, value]) => `${name}=${value}\0`)
    .join('') + '\0'

export type InitOutcome = { exitCode: number; usedTooMuchMemory: boolean }

/** What init said before it ended; null: it was ended, and said nothing. */
export function readOutcome(said: string): InitOutcome | null {
  const [, code, memory] = /^(\d+)( memory)?\n/.exec(said) ?? []
  return code === undefined ? null : { exitCode: Number(code), usedTooMuchMemory: memory !== undefined }
}
