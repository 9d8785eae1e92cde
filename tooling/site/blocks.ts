/**
 * Runs the code blocks of a page of docs/ that are marked `run`, from top to bottom, as a reader does: in a
 * folder that contains nothing else, with a clean environment.
 *
 * - ```sh run: commands, all in one shell, which stops at the first error.
 * - ```sh run exit=6: a command that ends with this exit code.
 * - ```sh run until="TEXT": a server in another terminal. The next block runs when it has printed TEXT. A
 *   server that the same program started before is stopped first, and all of them at the end of the page.
 * - ```yaml run title="NAME": the file NAME.
 * - ```text run: output that the blocks before it print, line by line; `…` stands for any text.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export type Block =
  | { kind: 'commands'; line: number; text: string; exit: number }
  | { kind: 'server'; line: number; text: string; until: string }
  | { kind: 'file'; line: number; text: string; name: string }
  | { kind: 'output'; line: number; text: string }

const FENCE = /^```(\w*)([^\n]*)\n([\s\S]*?)^```$/gm

/** The marked blocks of a page. */
export const readBlocks = (markdown: string): Block[] =>
  [...markdown.matchAll(FENCE)].flatMap(({ 1: language = '', 2: info = '', 3: text = '', index }) => {
    const isMarked = /\brun\b/.test(info.replaceAll(/"[^"]*"/g, ''))
    return isMarked ? [blockOf(language, info, text, markdown.slice(0, index).split('\n').length)] : []
  })

function blockOf(language: string, info: string, text: string, line: number): Block {
  const name = /\btitle="([^"]+)"/.exec(info)?.[1]
  const until = /\buntil="([^"]+)"/.exec(info)?.[1]
  const exit = Number(/\bexit=(\d+)/.exec(info)?.[1] ?? 0)
  if (until !== undefined) return { kind: 'server', line, text, until }
  if (name !== undefined) return { kind: 'file', line, text, name }
  if (language === 'sh') return { kind: 'commands', line, text, exit }
  if (language === 'text') return { kind: 'output', line, text }
  throw new Error(
    `line ${line}: a block of ${language || 'no language'} is marked "run" without title="NAME"`,
  )
}

/** Lines of `expected` that `output` does not contain. */
export function missingLines(expected: string, output: string): string[] {
  const escape = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
  return expected
    .split('\n')
    .filter(line => line.trim() !== '')
    .filter(line => !new RegExp(line.trim().split('…').map(escape).join('[^\n]*')).test(output))
}

export type Place = { folder: string; env: Readonly<Record<string, string>> }

/** A block that runs longer hangs. */
const TIMEOUT_MS = 600_000
/** Follows the output of a block that succeeded. */
const END = 'end-of-block'

type Shell = { child: ChildProcess; output: string; ended: boolean }

function startShell(place: Place, args: readonly string[]): Shell {
  const child = spawn('bash', ['--noprofile', '--norc', '-e', ...args], {
    cwd: place.folder,
    env: { ...place.env },
    stdio: ['pipe', 'pipe', 'pipe'],
    // A group of its own, so that a server that npx starts is stopped with it.
    detached: true,
  })
  const shell: Shell = { child, output: '', ended: false }
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      shell.output += text
      child.emit('output')
    })
  // What the shell started in the background keeps its output open.
  child.once('exit', () => killGroup(child))
  child.once('close', () => {
    shell.ended = true
    child.emit('output')
  })
  return shell
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGTERM')
  } catch (error) {
    // The group has ended.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Waits until the output of a shell fits. Throws when the shell ends first, and when the time is over. */
async function waitFor(shell: Shell, from: number, fits: (output: string) => boolean): Promise<void> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  while (!fits(shell.output.slice(from))) {
    if (shell.ended) throw new Error(`the shell ended with ${shell.child.exitCode ?? shell.child.signalCode}`)
    await once(shell.child, 'output', { signal })
  }
}

async function stop(shell: Shell): Promise<void> {
  if (shell.ended) return
  const ended = once(shell.child, 'close')
  killGroup(shell.child)
  await ended
}

/** Runs the blocks and returns their output. Throws with the line of the block that failed. */
export async function runBlocks(blocks: readonly Block[], place: Place): Promise<string> {
  const main = startShell(place, ['-s'])
  const servers = new Map<string, Shell>()
  const printed = (): string => [main, ...servers.values()].map(({ output }) => output).join('\n')
  try {
    for (const block of blocks) {
      try {
        if (block.kind === 'file') {
          mkdirSync(dirname(join(place.folder, block.name)), { recursive: true })
          writeFileSync(join(place.folder, block.name), block.text)
        } else if (block.kind === 'server') {
          const program = block.text.split(/\s+/, 3).join(' ')
          const earlier = servers.get(program)
          if (earlier !== undefined) await stop(earlier)
          const server = startShell(place, ['-c', block.text])
          servers.set(program, server)
          await waitFor(server, 0, output => output.includes(block.until))
        } else if (block.kind === 'commands') await runCommands(main, block)
        else {
          const missing = missingLines(block.text, printed())
          if (missing.length > 0) throw new Error(`the output lacks:\n${missing.join('\n')}`)
        }
      } catch (error) {
        throw new Error(`the block at line ${block.line} failed; all output:\n${printed()}`, { cause: error })
      }
    }
    return main.output
  } finally {
    await Promise.all([main, ...servers.values()].map(stop))
  }
}

async function runCommands(
  shell: Shell,
  { text, exit }: Extract<Block, { kind: 'commands' }>,
): Promise<void> {
  const from = shell.output.length
  const check = exit === 0 ? '' : ` && false || [ $? -eq ${exit} ]`
  // In braces, so that the shell reads the whole block first: no command reads the rest of it as its input.
  shell.child.stdin?.write(`{\n${text}\n} </dev/null${check}; echo "${END}"\n`)
  await waitFor(shell, from, output => output.includes(END))
}
