/** Every user error: the exit code, and a message that names the error and the fix. */
import { cpSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createDirectory, run as runProcess, runHere as run } from './program.ts'

const { path, remove } = createDirectory()
afterAll(() => {
  remove()
  vi.unstubAllEnvs()
})
const model = path('tiny')
beforeAll(async () => {
  vi.stubEnv('HF_HUB_OFFLINE', '1')
  expect(await run(['model', 'new', model])).toMatchObject({ code: 0 })
  writeFileSync(path('data.jsonl'), '{"text": "one and one is two"}\n')
})

const train = (settings: Record<string, string>, ...more: string[]) =>
  run([
    'train',
    ...Object.entries({
      model,
      dataset: path('data.jsonl'),
      output_dir: path('out'),
      max_seq_length: '64',
      ...settings,
    }).map(([key, value]) => `--${key}=${value}`),
    ...more,
  ])

/** A copy of the model with one file changed. */
function changed(name: string, file: string, change: (path: string) => void): string {
  cpSync(model, path(name), { recursive: true })
  change(`${path(name)}/${file}`)
  return path(name)
}

/** The header of a safetensors file with one text replaced by another of its length. */
const replaceInHeader = (from: string, to: string) => (file: string) => {
  const bytes = readFileSync(file)
  const at = bytes.indexOf(from)
  expect(at).toBeGreaterThan(0)
  expect(to).toHaveLength(from.length)
  bytes.write(to, at)
  writeFileSync(file, bytes)
}

const cases: [what: string, run: () => ReturnType<typeof run>, code: number, says: RegExp][] = [
  ['no such command', () => run(['trian']), 2, /Unknown command "trian"; did you mean "train"/],
  [
    'the benchmark without a recipe',
    () => run(['bench', 'sft', model]),
    2,
    /usage: benchmark_sft\.sh "<model_id>" <recipe>/,
  ],
  [
    'the benchmark with an unknown recipe',
    () => run(['bench', 'sft', model, 'bnb']),
    2,
    /unknown recipe "bnb"\nusage: .*qbnb/,
  ],
  [
    'conversations, and a tokenizer without a template',
    () => {
      writeFileSync(
        path('chats.jsonl'),
        '{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}\n',
      )
      const plain = changed('plain', 'chat_template.jinja', file => rmSync(file))
      return train({ model: plain, dataset: path('chats.jsonl') })
    },
    2,
    /chats\.jsonl:1: the model has no chat template \(chat_template\.jinja, or chat_template in tokenizer_con/,
  ],
  ['an export without a format', () => run(['export', model]), 2, /--format is required and must be gguf/],
  [
    'an export in another format',
    () => run(['export', model, '--format', 'onnx']),
    2,
    /--format must be gguf, got "onnx"/,
  ],
  [
    'an export of another type',
    () => run(['export', model, '--format', 'gguf', '--type', 'q4_0']),
    2,
    /--type must be as-stored, f32, bf16, f16, q8_0, got "q4_0"/,
  ],
  [
    'an export over a file that is there',
    () => run(['export', model, '--format', 'gguf', '--output', path('data.jsonl')]),
    2,
    /data\.jsonl already exists; give another file with --output/,
  ],
  [
    'a base for what is no adapter',
    () => run(['export', model, '--format', 'gguf', '--base', model, '--output', path('x.gguf')]),
    2,
    /--base is only for adapters, and .*tiny is not an adapter/,
  ],
  ['a GGUF file that is not there', () => train({ model: path('no.gguf') }), 2, /no\.gguf": no such file/],
  [
    'a file that is no GGUF',
    () => {
      writeFileSync(path('text.gguf'), 'once upon a time')
      return train({ model: path('text.gguf') })
    },
    2,
    /text\.gguf: not a GGUF file: begins with "once", expected "GGUF"/,
  ],
  ['an unknown recipe', () => train({ recipe: 'int8' }), 2, /--recipe: .*"bf16"/],
  ['an unknown key', () => train({ lora_rnak: '8' }), 2, /unknown key "lora_rnak"; did you mean lora_rank\?/],
  ['a key of the wrong kind', () => train({ lora_rank: 'many' }), 2, /--lora_rank: .*number.*got "many"/],
  [
    'an unknown key in YAML',
    () => (writeFileSync(path('run.yaml'), 'max_seq_len: 64\n'), run(['train', path('run.yaml')])),
    2,
    /run\.yaml: unknown key "max_seq_len"; did you mean max_seq_length/,
  ],
  [
    'a configuration that is not there',
    () => run(['train', '--config', path('none.yaml')]),
    2,
    /none\.yaml: cannot read the file/,
  ],
  [
    'a missing model',
    () => train({ model: 'somebody/something' }),
    2,
    /model somebody\/something: not complete in the hub cache \(.*HF_HUB_OFFLINE/,
  ],
  [
    'a truncated safetensors file',
    () => train({ model: changed('cut', 'model.safetensors', file => truncateSync(file, 100_000)) }),
    2,
    /model\.safetensors: truncated: tensor ".*" ends at byte \d+, but the file has 100000; download it again/,
  ],
  [
    'a Git LFS pointer in place of the weights',
    () =>
      train({
        model: changed('pointer', 'model.safetensors', file =>
          writeFileSync(file, 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n'),
        ),
      }),
    2,
    /is a Git LFS pointer; fetch the file with `git lfs pull`/,
  ],
  [
    'a weight of a dtype that is none',
    () =>
      train({
        model: changed(
          'integers',
          'model.safetensors',
          replaceInHeader('"model.norm.weight":{"dtype":"BF16"', '"model.norm.weight":{"dtype":"I16" '),
        ),
      }),
    2,
    /"model\.norm\.weight" must have dtype BF16, F32 or F16, got I16/,
  ],
  [
    'weights of another shape than config.json says',
    () =>
      train({
        model: changed('shape', 'config.json', file =>
          writeFileSync(
            file,
            readFileSync(file, 'utf8').replace('"intermediate_size": 192', '"intermediate_size": 256'),
          ),
        ),
      }),
    2,
    /must have shape \(256, 64\), got \(192, 64\); config\.json and the weights belong to different models/,
  ],
  [
    'an architecture that is not read',
    () =>
      train({
        model: changed('falcon', 'config.json', file =>
          writeFileSync(file, readFileSync(file, 'utf8').replace('"qwen3"', '"falcon"')),
        ),
      }),
    4,
    /model_type "falcon" is not supported; supported: .*qwen3/,
  ],
  ['a data set that is not there', () => train({ dataset: path('none.jsonl') }), 2, /none\.jsonl/],
  [
    'a data set without the columns',
    () => (
      writeFileSync(path('columns.jsonl'), '{"body": "x"}\n'),
      train({ dataset: path('columns.jsonl') })
    ),
    2,
    /columns\.jsonl:1: has the columns body; expected messages, or .*; map other names with dataset_columns/,
  ],
  [
    'a message without content',
    () => (
      writeFileSync(path('silent.jsonl'), '{"messages": [{"role": "user"}]}\n'),
      train({ dataset: path('silent.jsonl') })
    ),
    2,
    /silent\.jsonl:1: .*a message needs content/,
  ],
  [
    'a conversation in which the assistant says nothing',
    () => (
      writeFileSync(path('alone.jsonl'), '{"messages": [{"role": "user", "content": "x"}]}\n'),
      train({ dataset: path('alone.jsonl') })
    ),
    2,
    /none of 1 examples has a token to train on .* set train_on: all/,
  ],
  ['more threads than an engine has', () => train({ threads: '5000' }), 2, /--threads: .*<=1024, got 5000/],
  [
    'a new model where a file is',
    () => run(['model', 'new', path('data.jsonl')]),
    2,
    /new model .*data\.jsonl: is a file/,
  ],
  [
    'a matrix with a size that is none',
    () => run(['bench', 'matrix', model, '--memory', 'lots']),
    2,
    /invalid size "lots": use a number with B/,
  ],
  [
    'a matrix whose baseline has no Python',
    () => run(['bench', 'matrix', model, '--baseline-python', path('python')]),
    2,
    /python: cannot start it; expected a Python with torch/,
  ],
  [
    'a document longer than a row',
    () => (
      writeFileSync(path('long.jsonl'), `{"text": "${'x'.repeat(200)}"}\n`),
      train({ dataset: path('long.jsonl'), too_long: 'error' })
    ),
    2,
    /example 1 has 201 tokens, more than max_seq_length 64; raise max_seq_length/,
  ],
  [
    'more positions than the model has',
    () => train({ max_seq_length: '50000' }),
    2,
    /max_seq_length 50000: more than the 40960 positions of/,
  ],
  [
    'numbers that leave the finite',
    () =>
      train({
        learning_rate: '1e38',
        lr_scheduler_type: 'constant',
        max_steps: '4',
        output_dir: path('nan'),
      }),
    1,
    /step 2: the (loss|gradient norm) is .*Lower learning_rate/,
  ],
  [
    'a run that does not fit',
    () => train({ memory_limit: '10MB' }),
    3,
    /OOM: this run needs [\d.]+ [MG]iB .* but may use only 9\.\d+ MiB/,
  ],
  [
    'more made-up problems than there are',
    () => run(['data', 'generate', '--max-number', '20', '--min-steps', '3']),
    2,
    /only \d+ problems in the train split with numbers up to 20; generate fewer or allow larger numbers/,
  ],
  [
    'an output directory that is a file',
    () => train({ output_dir: path('data.jsonl') }),
    2,
    /output_dir .*data\.jsonl: is a file/,
  ],
]

test.each(cases)('%s', async (_what, attempt, code, says) => {
  const ended = await attempt()
  expect(ended.err).toMatch(says)
  expect(ended.code).toBe(code)
  // A message for the user, without a stack trace.
  expect(ended.err).not.toMatch(/\n\s+at /)
})

test('the process exits with the code and the message of its command', async () => {
  const ended = await runProcess(['trian'])
  expect(ended).toEqual({
    code: 2,
    out: '',
    err: 'cairn-tune: Unknown command "trian"; did you mean "train"?\n',
  })
})

test('with --json the error is printed as JSON on stderr', async () => {
  const { code, err } = await train({ recipe: 'int8' }, '--json')
  expect({ code, ...(JSON.parse(err) as object) }).toMatchObject({
    code: 2,
    error: { exit_code: 2, message: expect.stringContaining('recipe') },
  })
})
