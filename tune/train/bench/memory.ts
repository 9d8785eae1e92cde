/**
 * Peak memory of a run compared with `estimate`, one process per row. Arguments: a model, then pairs of
 * `--key=value` for every run. Rows are the recipes with kernels, recomputation on and off, and full training
 * of a small model.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  MATMULS,
  RECIPES,
  RECIPE_TABLE,
  bytesText,
  readConfig,
  train,
  writeNewModel,
  type MemoryEstimate,
} from '@cairn-tune/train'

const [model = '', ...flags] = process.argv.slice(2)
type Row = { estimated: MemoryEstimate; peak: number; recomputed?: string }

if (process.env['CAIRN_MEMORY_CHILD'] !== undefined) {
  const { memory, peakRssBytes } = await train(readConfig({ flags: [`--model=${model}`, ...flags] }))
  console.log(JSON.stringify({ estimated: memory, peak: peakRssBytes } satisfies Row))
} else {
  const directory = mkdtempSync(join(tmpdir(), 'cairn-memory-'))
  try {
    const small = join(directory, 'small')
    await writeNewModel(small, 'small', 1)
    const hasKernel = (name: (typeof RECIPES)[number]) =>
      MATMULS[RECIPE_TABLE[name].matmul].arithmetic !== undefined
    const cases: [name: string, model: string, flags: string[]][] = [
      ...RECIPES.filter(hasKernel).map((name): [string, string, string[]] => [
        name,
        model,
        [`--recipe=${name}`],
      ]),
      ['bf16, all recomputed', model, ['--recompute=all']],
      ['small, bf16', small, []],
      ['small, every weight', small, ['--lora=false']],
    ]
    console.log('| run | estimated | peak | estimated / peak |\n|---|---|---|---|')
    for (const [i, [name, of, own]] of cases.entries()) {
      const args = [
        '--dataset=problems:ro',
        '--max_steps=2',
        '--gradient_accumulation_steps=1',
        ...flags,
        ...own,
        `--output_dir=${join(directory, String(i))}`,
      ]
      const child = spawnSync(process.execPath, [fileURLToPath(import.meta.url), of, ...args], {
        env: { ...process.env, CAIRN_MEMORY_CHILD: '1' },
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      if (child.status !== 0) throw new Error(`${name}: exit ${child.status}`)
      const { estimated, peak } = JSON.parse(child.stdout) as Row
      console.log(
        `| ${name} | ${bytesText(estimated.total)} | ${bytesText(peak)} | ` +
          `${(estimated.total / peak).toFixed(3)} |`,
      )
    }
  } finally {
    rmSync(directory, { recursive: true })
  }
}
