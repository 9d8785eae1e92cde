/**
 * A trained adapter for interop_trained.py: `make_trained.ts DIRECTORY [--use_dora …]` writes model/,
 * data.jsonl, run/adapter/, merged/ and loss.json, which has the loss of our engine over all of the data with
 * that adapter, in f32 and on the bf16 base. Further arguments are keys of the run.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { mergeAdapter, readConfig, train, writeNewModel } from '@cairn-tune/train'

const [directory = '', ...keys] = process.argv.slice(2)
const [model, data] = [join(directory, 'model'), join(directory, 'data.jsonl')]
await mkdir(directory, { recursive: true })
await writeNewModel(model, 'tiny', 1)
// Eight documents of 32 tokens fill four rows of 64, so that each step sees all of them.
const texts = Array.from({ length: 8 }, (_, i) =>
  `${i} ape, ${i + 1} mere și ${i + 2} pere fac mult.`.padEnd(60, '!'),
)
const fitting = texts.map(text => Buffer.from(text).subarray(0, 31).toString())
await writeFile(data, fitting.map(text => `${JSON.stringify({ text })}\n`).join(''))

const trained = await train(
  readConfig({
    flags: [
      `--model=${model}`,
      `--dataset=${data}`,
      `--eval_dataset=${data}`,
      `--output_dir=${join(directory, 'run')}`,
      '--max_steps=20',
      '--compute_dtype=f32',
      '--max_seq_length=64',
      '--per_device_train_batch_size=4',
      '--gradient_accumulation_steps=1',
      '--learning_rate=0.01',
      '--lr_scheduler_type=constant',
      ...keys,
    ],
  }),
)
await mergeAdapter({ base: model, adapter: trained.output, output: join(directory, 'merged') })
await writeFile(
  join(directory, 'loss.json'),
  JSON.stringify({
    // B is zero in the first step, whatever is dropped before it.
    first: trained.metrics[0]?.loss,
    last: trained.evaluations.at(-1)?.loss,
    tokens: trained.evaluations.at(-1)?.tokens,
  }),
)
