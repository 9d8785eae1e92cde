/**
 * A process that exchanges names in a folder as fast as it can, as a command of an agent may: a folder turns
 * into a link and back between any two system calls of the server. Boxed, it sees the workspace through a
 * mount of its own, as a terminal command does.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Ten exchanges at full speed, then ten with a random pause, so that short and long gaps are both hit. */
const IN_C = `
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char **names) {
  for (unsigned round = 0;; round++)
    for (int i = 1; i + 1 < count; i += 2) {
      syscall(SYS_renameat2, AT_FDCWD, names[i], AT_FDCWD, names[i + 1], 2u);
      if (round / 10 % 2) usleep(rand() % 200);
    }
}
`
const IN_PYTHON = `
import ctypes, random, sys, time
libc, names, round = ctypes.CDLL(None), [name.encode() for name in sys.argv[1:]], 0
while True:
  for a, b in zip(names[::2], names[1::2]):
    libc.renameat2(-100, a, -100, b, 2)
    if round // 10 % 2: time.sleep(random.random() / 5000)
  round += 1
`
/** Without renameat2 there is a moment without either; the attack is weaker and still one. */
const IN_NODE = `
const { renameSync } = require('node:fs')
const names = process.argv.slice(1)
for (;;)
  for (let i = 0; i + 1 < names.length; i += 2) {
    const [a, b] = [names[i], names[i + 1]]
    try { renameSync(a, a + '.swap'); renameSync(b, a); renameSync(a + '.swap', b) } catch {}
  }
`

export type Swapper = { language: 'C' | 'Python' | 'Node'; stop(): Promise<void> }
export type SwapperOptions = {
  workspace: string
  /** Names that change places, relative to the workspace. */
  pairs: readonly (readonly [string, string])[]
  boxed: boolean
}

const succeeds = (file: string, args: readonly string[]): boolean => {
  try {
    execFileSync(file, args, { stdio: 'ignore', timeout: 30_000 })
    return true
  } catch {
    return false
  }
}

/** The program in the folder, or what else this machine can run; its arguments are pairs of names. */
export function buildSwapper(folder: string): { language: Swapper['language']; command: string[] } {
  const [source, program] = [join(folder, 'swap.c'), join(folder, 'swap')]
  writeFileSync(source, IN_C)
  if (succeeds('cc', ['-O2', '-o', program, source])) return { language: 'C', command: [program] }
  if (succeeds('python3', ['-c', 'import ctypes; ctypes.CDLL(None).renameat2']))
    return { language: 'Python', command: ['python3', '-c', IN_PYTHON] }
  return { language: 'Node', command: [process.execPath, '-e', IN_NODE, '--'] }
}

const boxArguments = (workspace: string, folder: string, command: readonly string[]): string[] => [
  ...'--unshare-user --unshare-pid --unshare-ipc --unshare-net --die-with-parent'.split(' '),
  ...['/usr', '/bin', '/lib', '/lib64', folder].flatMap(path => ['--ro-bind-try', path, path]),
  ...'--proc /proc --dev /dev --bind'.split(' '),
  workspace,
  workspace,
  '--chdir',
  workspace,
  ...command,
]

/** From where a swapper can run on this machine, with `boxed` for each. */
export const SWAPPER_PLACES: readonly (readonly [string, boolean])[] = [
  ['outside any box', false],
  ...(succeeds('bwrap', boxArguments(tmpdir(), tmpdir(), ['/bin/sh', '-c', ':']))
    ? ([['in a box', true]] as const)
    : []),
]

export function startSwapper({ workspace, pairs, boxed }: SwapperOptions): Swapper {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-swapper-'))
  const { language, command } = buildSwapper(folder)
  const line = [...command, ...pairs.flat()]
  const [file = '', ...args] = boxed ? ['bwrap', ...boxArguments(workspace, folder, line)] : line
  // What runs in a box dies some moments after the box: its end of this pipe closes then.
  const child: ChildProcess = spawn(file, args, { cwd: workspace, stdio: ['ignore', 'pipe', 'ignore'] })
  child.stdout?.resume()
  const gone = once(child, 'close')
  return {
    language,
    async stop() {
      if (child.exitCode !== null) throw new Error(`the swapper ended by itself with ${child.exitCode}`)
      child.kill('SIGKILL')
      await gone
      rmSync(folder, { recursive: true })
    },
  }
}
