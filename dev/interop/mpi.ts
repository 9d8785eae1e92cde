/**
 * Ranks under an MPI launcher (`npm run dev -- interop:mpi`): every collective, a training run that must have
 * the bits of the same run over shared memory, and one whose rank is killed. Needs `mpirun` or `mpiexec` of
 * Open MPI or MPICH in the path (CAIRN_MPIRUN names another), and the library where the loader finds it
 * (CAIRN_TUNE_MPI names it).
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const RANKS = 4
const KILL_LIMIT_S = 10
const root = fileURLToPath(new URL('../..', import.meta.url))
const launcher = process.env['CAIRN_MPIRUN'] ?? 'mpirun'
const main = join(root, 'tune/cli/src/main.ts')
const folder = mkdtempSync(join(tmpdir(), 'cairn-mpi-'))

type Ended = { code: number | null; out: string; err: string; seconds: number }

function run(command: string, args: readonly string[], onOut: (text: string) => void = () => undefined) {
  const started = performance.now()
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
    onOut(text)
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  return new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', code => resolve({ code, out, err, seconds: (performance.now() - started) / 1000 }))
  })
}

/** More ranks than processors are allowed only by this variable, or by default. */
process.env['PRTE_MCA_rmaps_default_mapping_policy'] ??= ':oversubscribe'
process.env['OMPI_MCA_rmaps_base_oversubscribe'] ??= '1'
const launch = (args: readonly string[], onOut?: (text: string) => void) =>
  run(launcher, ['-n', String(RANKS), process.execPath, ...args], onOut)

let failures = 0
function report(what: string, isRight: boolean, detail = ''): void {
  if (!isRight) failures++
  console.log(`${isRight ? 'holds' : 'WRONG'}: ${what}${isRight ? '' : `\n${detail}`}`)
}

async function judgeCollectives(): Promise<void> {
  const { code, out, err } = await launch([join(root, 'tune/native/test/collectives-rank.ts')])
  const lines = out.split('\n').filter(line => line.startsWith('{'))
  const each = [0, 1, 2, 3]
  const right = each.map(rank =>
    JSON.stringify({
      rank,
      ranks: RANKS,
      transport: 'MPI',
      isSame: true,
      wrong: 0,
      gathered: each.flatMap(of => [10 + of, 20 + of]),
      received: each.map(of => 16 * of + rank),
      told: [RANKS - 1, 7],
    }),
  )
  report(
    'every collective, with sums in the order of ranks',
    code === 0 && right.every(line => lines.includes(line)) && lines.length === RANKS,
    out + err,
  )
}

const settings = (model: string, dataset: string, output: string, steps: number): string[] => [
  main,
  'train',
  `--model=${model}`,
  `--dataset=${dataset}`,
  `--output_dir=${join(folder, output)}`,
  '--max_seq_length=64',
  '--gradient_accumulation_steps=1',
  '--device=cpu',
  '--threads=1',
  `--max_steps=${steps}`,
  '--json',
]

async function judgeTraining(model: string, dataset: string): Promise<void> {
  const mpi = await launch([...settings(model, dataset, 'mpi', 6), '--rank_transport=mpi'])
  const memory = await run(process.execPath, [...settings(model, dataset, 'memory', 6), `--ranks=${RANKS}`])
  const adapter = (output: string) => readFileSync(join(folder, output, 'adapter/adapter_model.safetensors'))
  const isRight = mpi.code === 0 && memory.code === 0 && adapter('mpi').equals(adapter('memory'))
  report('six steps have the bits of shared memory', isRight, mpi.out + mpi.err + memory.out + memory.err)
}

async function judgeLoss(model: string, dataset: string): Promise<void> {
  let killed = 0
  const { code, err } = await launch(
    [...settings(model, dataset, 'killed', 2000), '--rank_transport=mpi', '--save_steps=1'],
    text => {
      if (killed > 0 || !text.includes('"step":3,')) return
      killed = performance.now()
      void killOne()
    },
  )
  const seconds = (performance.now() - killed) / 1000
  report(
    `a killed rank ends the others (${seconds.toFixed(1)} s)`,
    killed > 0 && code !== 0 && seconds < KILL_LIMIT_S,
    err,
  )
}

/** Kills the last rank of the run in the folder `killed`. */
async function killOne(): Promise<void> {
  const { out } = await run('ps', ['-o', 'pid=,args=', '-A'])
  const pids = out
    .split('\n')
    .filter(line => line.includes(main) && line.includes(`${folder}/killed`) && !line.includes(launcher))
    .map(line => Number.parseInt(line.trim(), 10))
  const victim = pids.at(-1)
  if (victim !== undefined) process.kill(victim, 'SIGKILL')
}

try {
  const model = join(folder, 'tiny')
  const dataset = join(folder, 'texts.jsonl')
  const rows = Array.from({ length: 40 }, (_, i) => JSON.stringify({ text: `${i} is ${'abcd'.repeat(6)}` }))
  writeFileSync(dataset, `${rows.join('\n')}\n`)
  await run(process.execPath, [main, 'model', 'new', model])
  await judgeCollectives()
  await judgeTraining(model, dataset)
  await judgeLoss(model, dataset)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exitCode = failures === 0 ? 0 : 1
