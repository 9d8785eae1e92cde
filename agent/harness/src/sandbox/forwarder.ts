/**
 * What listens inside a box that has a proxy: 127.0.0.1:3128, every connection handed on to the proxy's unix
 * socket. In Perl, which Debian always has and which starts in a few milliseconds, for each command of a
 * terminal needs its own.
 *
 * It listens before the command begins, so nobody waits for it, and is no child of the command's, so a
 * command that waits for its children does not wait for it. It ends when the command and what it left behind
 * have ended: each of them holds the other end of a pipe. Nobody else would end it where the service was
 * killed, and the box would stay with it.
 */
import { COMMAND_PATH, findProgram } from './program.ts'

export const FORWARDER_PORT = 3128
/** Where a box sees the socket of its proxy. */
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

/** The command line that listens and then becomes `argv`. */
export const behindForwarder = (argv: readonly string[]): readonly string[] => [
  'perl',
  '-e',
  FORWARDER,
  String(FORWARDER_PORT),
  PROXY_IN_SANDBOX,
  ...argv,
]

/** Looked for where boxes look, not in the PATH of the service. */
export const hasForwarder = (): boolean => findProgram('perl', COMMAND_PATH) !== null

const ADDRESS = `http://127.0.0.1:${FORWARDER_PORT}`

/** Both spellings: curl reads only the small one of the first, others only the large ones. */
export const PROXY_VARIABLES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({
    http_proxy: ADDRESS,
    https_proxy: ADDRESS,
    all_proxy: ADDRESS,
    // The box's own loopback, where a command may have started a server.
    no_proxy: 'localhost,127.0.0.1,::1',
  }).flatMap(([name, value]) => [
    [name, value],
    [name.toUpperCase(), value],
  ]),
)
