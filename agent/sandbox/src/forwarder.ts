/**
 * The listener inside a sandbox with a proxy: accepts connections on 127.0.0.1:3128 and forwards them to the
 * proxy's unix socket. Written in Perl, which Debian always has and which starts in a few milliseconds,
 * because each terminal command needs its own.
 *
 * It listens before the command starts, so nothing waits for it, and is not a child of the command, so a
 * command that waits for its children does not wait for it. It exits when the command and its descendants
 * have exited: each of them holds the other end of a pipe. If the service was killed, nothing else would end
 * it, and the sandbox would remain.
 */
import { COMMAND_PATH, findProgram } from './program.ts'

export const FORWARDER_PORT = 3128
/** Path of the proxy's socket in a sandbox. */
export const PROXY_IN_SANDBOX = '/run/cairn/proxy'

/** Arguments: the port, the socket, and the command that this process becomes. */
const FORWARDER = `
use strict; use Socket;
my ($port, $boxProxy, @argv) = @ARGV;
socket(my $listener, PF_INET, SOCK_STREAM, 0) or die "socket: $!\\n";
setsockopt($listener, SOL_SOCKET, SO_REUSEADDR, 1);
bind($listener, sockaddr_in($port, INADDR_LOOPBACK)) or die "127.0.0.1:$port: $!\\n";
listen($listener, 128) or die "listen: $!\\n";
$^F = 1 << 16; pipe(my $over, my $held) or die "pipe: $!\\n";
defined(my $first = fork) or die "fork: $!\\n";
if ($first) { close $listener; close $over; waitpid $first, 0; exec { $argv[0] } @argv; exit 127 }
exit if fork;
close $held;
open STDIN, '<', '/dev/null'; open STDOUT, '>', '/dev/null'; open STDERR, '>', '/dev/null';
$SIG{CHLD} = 'IGNORE';
for (;;) {
  vec(my $ready = '', fileno $listener, 1) = 1; vec($ready, fileno $over, 1) = 1;
  select($ready, undef, undef, undef) > 0 or next;
  exit if vec($ready, fileno $over, 1);
  accept(my $client, $listener) or next;
  next if fork;
  my $up;
  socket($up, PF_UNIX, SOCK_STREAM, 0) && connect($up, pack_sockaddr_un($boxProxy)) or exit;
  my ($from, $to) = fork ? ($client, $up) : ($up, $client);
  while (sysread($from, my $data, 262144)) {
    for (my $at = 0; $at < length $data;) { $at += syswrite($to, $data, length($data) - $at, $at) // exit }
  }
  shutdown($to, 1);
  exit;
}
`

/** A command line that listens and then executes `argv`. */
export const behindForwarder = (argv: readonly string[]): readonly string[] => [
  'perl',
  '-e',
  FORWARDER,
  String(FORWARDER_PORT),
  PROXY_IN_SANDBOX,
  ...argv,
]

/** Searched in the sandbox's PATH, not in the service's. */
export const hasForwarder = (): boolean => findProgram('perl', COMMAND_PATH) !== null

const ADDRESS = `http://127.0.0.1:${FORWARDER_PORT}`

/**
 * Both spellings: curl reads only the lower-case form of the first, other programs only the upper-case forms.
 */
export const PROXY_VARIABLES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({
    http_proxy: ADDRESS,
    https_proxy: ADDRESS,
    all_proxy: ADDRESS,
    // The sandbox's own loopback, where a command may have started a server.
    no_proxy: 'localhost,127.0.0.1,::1',
  }).flatMap(([name, value]) => [
    [name, value],
    [name.toUpperCase(), value],
  ]),
)
