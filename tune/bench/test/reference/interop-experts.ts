/**
 * Whether `cairn-tune eval` and lm-evaluation-harness say the same of a model with experts: a small Qwen3-MoE
 * that has learnt some of the questions it is asked, and an adapter on it, both from one server.
 *
 *   pip install 'lm_eval[api]' transformers
 *   PATH=<that environment>/bin:$PATH node tune/bench/test/reference/interop-experts.ts DIR
 *
 * What is in DIR is not made again: the training takes minutes.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { FAMILIES } from '@cairn-tune/models'
import { writeModelFromConfig } from '@cairn-tune/train'
import { runHarness } from './run-harness.ts'

const QUESTIONS = 60
const [, , directory] = process.argv
if (directory === undefined) throw new Error('the directory to work in is missing')
const at = (...parts: string[]) => join(directory, ...parts)
const main = fileURLToPath(new URL('../../../cli/src/main.ts', import.meta.url))

function cairnTune(...args: string[]): void {
  const { status } = spawnSync(process.execPath, [main, ...args], { stdio: 'inherit' })
  if (status !== 0) throw new Error(`cairn-tune ${args[0]} ended with ${status}`)
}

mkdirSync(directory, { recursive: true })
const all = readFileSync(new URL('questions.jsonl', import.meta.url), 'utf8').split('\n')
const rows = all.slice(0, QUESTIONS).map(line => JSON.parse(line) as { question: string; answer: string })
const lines = (list: readonly object[]) => list.map(row => `${JSON.stringify(row)}\n`).join('')
writeFileSync(at('questions.jsonl'), lines(rows))
writeFileSync(
  at('taught.jsonl'),
  lines(
    rows.map(({ question, answer }) => ({
      prompt: `Question: ${question}\nAnswer:`,
      completion: ` ${answer}`,
    })),
  ),
)

const teach = (model: string, output: string, ...settings: string[]) =>
  cairnTune(
    'train',
    '--model',
    model,
    '--dataset',
    at('taught.jsonl'),
    '--output_dir',
    output,
    '--overwrite',
    '--max_seq_length',
    '512',
    '--per_device_train_batch_size',
    '2',
    '--gradient_accumulation_steps',
    '1',
    ...settings,
  )
const base = at('base', 'model')
if (!existsSync(base)) {
  rmSync(at('random'), { recursive: true, force: true })
  await writeModelFromConfig(
    at('random'),
    {
      ...FAMILIES.qwen3_moe.defaults,
      model_type: 'qwen3_moe',
      vocab_size: 320,
      hidden_size: 256,
      intermediate_size: 256,
      num_hidden_layers: 4,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      head_dim: 64,
      num_experts: 16,
      num_experts_per_tok: 4,
      moe_intermediate_size: 128,
      norm_topk_prob: true,
      initializer_range: 0.04,
    },
    3,
  )
  const rate = ['--learning_rate', '2e-3', '--lr_scheduler_type', 'cosine']
  teach(at('random'), at('base'), '--recipe', 'bf16', '--lora', 'false', '--max_steps', '300', ...rate)
}
if (!existsSync(at('lora', 'adapter')))
  teach(
    base,
    at('lora'),
    '--recipe',
    'qfp4',
    '--lora_rank',
    '8',
    '--max_steps',
    '30',
    '--learning_rate',
    '1e-3',
  )

const serving = spawn(
  process.execPath,
  [
    main,
    'serve',
    base,
    '--served-model-name',
    'base',
    '--max-model-len',
    '1024',
    '--port',
    '0',
    '--json',
    '--enable-lora',
    '--lora-modules',
    `adapter=${at('lora', 'adapter')}`,
  ],
  { stdio: ['ignore', 'pipe', 'inherit'] },
)
try {
  const [first] = (await once(createInterface(serving.stdout), 'line')) as [string]
  const { url } = JSON.parse(first) as { url: string }
  for (const model of ['base', 'adapter']) {
    const [own, others] = [at(`eval-${model}`), at(`harness-${model}`)]
    for (const made of [own, others]) rmSync(made, { recursive: true, force: true })
    cairnTune('eval', model, '--url', url, '--dataset', at('questions.jsonl'), '--output_path', own)
    const harness = await runHarness({
      url,
      model,
      tokenizer: base,
      questions: at('questions.jsonl'),
      output: others,
    })
    const { results } = JSON.parse(readFileSync(join(own, 'results.json'), 'utf8')) as {
      results: { gsm8k: Record<string, number> }
    }
    for (const [name, figure] of Object.entries(harness.results)) {
      console.log(model, name, figure, results.gsm8k[name])
      if (figure !== results.gsm8k[name]) process.exitCode = 1
    }
    const samples = readFileSync(join(own, 'samples_gsm8k.jsonl'), 'utf8').trim().split('\n').slice(1)
    const extracted = new Map(
      samples.flatMap(line => {
        const sample = JSON.parse(line) as { index: number; extracted: Record<string, string> }
        return Object.entries(sample.extracted).map(([filter, text]) => [`${sample.index} ${filter}`, text])
      }),
    )
    const apart = harness.judged.filter(one => extracted.get(`${one.index} ${one.filter}`) !== one.extracted)
    console.log(model, `${harness.judged.length} extracted, ${apart.length} of them differ`)
    if (apart.length > 0) process.exitCode = 1
  }
} finally {
  serving.kill('SIGINT')
}
