/**
 * The first process of a container. It holds a unix socket connection to the service that lasts as long as
 * both live. podman's containers outlive the process that started them, and a killed service cannot end
 * anything; so init exits when the connection closes, and the kernel ends all other processes with it.
 *
 * The connection also carries the environment, which a command line or podman's own files would store, and
 * the request to end; in return it carries the outcome. Programs in the container run as init's user: they
 * can fake their own outcome but cannot outlive the next start of a service, which removes what is left
 * (reapContainers).
 */
import { COMMAND_PATH } from './program.ts'

export const SUPERVISOR_IN_SANDBOX = '/run/cairn/leash'

/**
 * Arguments: the socket, and the command. A control group kills only one process when memory runs out; a
 * partly killed build is useless, so init ends them all.
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

/** A byte on the connection: asks everything in the container to exit. */
export const ASK_TO_END = 'T'

/** The first message on the connection. Variables without a name or with a null byte cannot be set. */
export const environmentMessage = (env: Readonly<Record<string, string>>): string =>
  Object.entries({ PATH: COMMAND_PATH, ...env })
    .filter(([name, value]) => /^[^=\0]+$/.test(name) && !value.includes('\0'))
    .map(([name, value]) => `${name}=${value}\0`)
    .join('') + '\0'

export type InitOutcome = { exitCode: number; usedTooMuchMemory: boolean }

/** Init's last report; null: it was killed without one. */
export function readOutcome(said: string): InitOutcome | null {
  const [, code, memory] = /^(\d+)( memory)?\n/.exec(said) ?? []
  return code === undefined ? null : { exitCode: Number(code), usedTooMuchMemory: memory !== undefined }
}
