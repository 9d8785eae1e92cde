/** What is measured on the day when a card is at hand, most important first. */
import { join } from 'node:path'
import type { Stage } from './run-stages.ts'

type Place = {
  root: string
  node: string
  /** Folder for results. */
  output: string
  /** Folder for a model, which is not carried away. */
  work: string
  cards: number
  /** An emulated card: everything is tried, nothing is timed. */
  isEmulated: boolean
  /** A Python that has torch, transformers and peft for this card. */
  python: string | undefined
}

const DENSE = ['qwen3-0.6b', 'qwen3-1.7b', 'qwen3-4b', 'qwen3-8b']
const NO_SPEED = 'the speed of an emulated GPU means nothing'
const NO_PYTHON = 'no Python with torch, transformers and peft was found; CAIRN_JUDGE_PYTHON names one'

/** What an interpreter can run in the time of a stage. */
const OP_ON_EMULATOR = 'rms_norm'
const STEP_ON_EMULATOR = ['bf16', 'tiny', '64']

export function stagesOf({ root, node, output, work, cards, isEmulated, python }: Place): Stage[] {
  const program = (path: string, ...args: string[]) => [node, join(root, path), ...args]
  const cli = (...args: string[]) => program('tune/cli/src/main.ts', ...args)
  const timed = (command: string[]) => (isEmulated ? NO_SPEED : command)
  const torch = (...args: string[]) =>
    isEmulated ? NO_SPEED : python === undefined ? NO_PYTHON : [python, ...args]
  const step = 'tune/train/bench/step-cuda.ts'
  const model = join(work, 'qwen3-0.6b')
  const sft = (ranks: number) => [
    'sh',
    '-c',
    // The adapter stays behind: only the result is carried away.
    '"$0" "$1" bench sft "$2" bf16 --samples 400 --max-steps 6 --device cuda --ranks "$3" && ' +
      'mkdir -p "$4" && cp "$OUTPUT_DIR/benchmark_sft_bf16/result.json" "$4"',
    node,
    join(root, 'tune/cli/src/main.ts'),
    model,
    String(ranks),
    join(output, `sft-${ranks}`),
  ]
  return [
    {
      name: 'machine',
      about: 'cards, driver, compiler',
      command: cli('doctor'),
      seconds: 30,
      minSeconds: 1,
    },
    {
      name: 'build',
      about: 'the kernels compile for this card',
      command: program('dev/card-day/build.ts'),
      seconds: 240,
      minSeconds: 1,
      isRequired: true,
    },
    {
      name: 'judge-ops',
      about: 'every op equals the oracle',
      command: program('tune/program/test/interop-cuda.ts', ...(isEmulated ? [OP_ON_EMULATOR] : [])),
      seconds: 90,
      minSeconds: 5,
      isRequired: true,
    },
    {
      name: 'judge-steps',
      about: 'a training step equals the processor',
      command: program('tune/train/test/interop-cuda.ts', ...(isEmulated ? STEP_ON_EMULATOR : [])),
      seconds: isEmulated ? 180 : 60,
      minSeconds: 5,
      isRequired: true,
    },
    {
      name: 'launches',
      about: 'launches and bytes of a micro-step, counted',
      command: program('tune/train/bench/counts-cuda.ts', isEmulated ? 'qwen3-0.6b' : DENSE.join(',')),
      seconds: 30,
      minSeconds: 5,
    },
    ...DENSE.map(shape => ({
      name: `step-${shape}`,
      about: 'whole micro-steps in bf16, then op by op',
      command: timed(program(step, shape, '0', '5', 'bf16', 'ops')),
      seconds: 45,
      minSeconds: 20,
    })),
    ...['qwen3-0.6b', 'qwen3-8b'].flatMap(shape => [
      {
        name: `pytorch-${shape}`,
        about: 'the same micro-step by PyTorch',
        command: torch(join(root, 'benchmarks/step_pytorch.py'), shape),
        seconds: 60,
        minSeconds: 25,
      },
    ]),
    {
      name: 'pytorch-ops',
      about: 'products and attention by PyTorch',
      command: torch(join(root, 'tune/native/bench/card_torch.py')),
      seconds: 40,
      minSeconds: 15,
    },
    ...['qwen3-8b', 'qwen3-0.6b'].map(shape => ({
      name: `recipes-${shape}`,
      about: 'micro-steps of the other recipes',
      command: timed(program(step, shape, '0', '3', 'fp8,qfp8,fp4,qfp4,qbnb')),
      seconds: 90,
      minSeconds: 30,
    })),
    {
      name: 'model',
      about: 'a model of 0.6B for the next stage',
      command: timed(cli('model', 'new', model, '--shape', 'qwen3-0.6b')),
      seconds: 60,
      minSeconds: 40,
    },
    {
      name: 'sft',
      about: 'six steps of the benchmark, with data and optimizer',
      command: timed(sft(1)),
      seconds: 60,
      minSeconds: 25,
    },
    {
      name: 'sft-ranks',
      about: 'the same on all cards',
      command: isEmulated ? NO_SPEED : cards < 2 ? 'this machine has one card' : sft(cards),
      seconds: 60,
      minSeconds: 25,
    },
  ]
}
