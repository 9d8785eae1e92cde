/**
 * Adapters of experts that are trained here and written fused, for `make_fused.py judge DIR`:
 * DIR/NAME/{model,run,loss.json} of a random Qwen3-MoE and of the golden gpt-oss.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FAMILIES } from '@cairn-tune/models'
import { readConfig, train, writeModelFromConfig } from '@cairn-tune/train'
import { writeGoldenModel } from '../golden-model.ts'

const MOE = {
  ...FAMILIES.qwen3_moe.defaults,
  model_type: 'qwen3_moe' as const,
  vocab_size: 320,
  hidden_size: 64,
  intermediate_size: 64,
  num_hidden_layers: 2,
  head_dim: 16,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  num_experts: 4,
  num_experts_per_tok: 2,
  moe_intermediate_size: 32,
  norm_topk_prob: true,
  initializer_range: 0.05,
}

const [directory = ''] = process.argv.slice(2)
for (const name of ['qwen3_moe', 'gpt_oss']) {
  const at = (file: string) => join(directory, name, file)
  mkdirSync(join(directory, name), { recursive: true })
  if (name === 'gpt_oss') await writeGoldenModel(name, at('model'))
  else await writeModelFromConfig(at('model'), MOE, 1)
  const texts = Array.from({ length: 8 }, (_, i) => `${i} și ${i + 1} fac ${2 * i + 1}.`.slice(0, 15))
  writeFileSync(at('data.jsonl'), texts.map(text => `${JSON.stringify({ text })}\n`).join(''))
  const trained = await train(
    readConfig({
      flags: [
        `--model=${at('model')}`,
        `--dataset=${at('data.jsonl')}`,
        `--eval_dataset=${at('data.jsonl')}`,
        `--output_dir=${at('run')}`,
        `--recipe=${name === 'gpt_oss' ? 'qfp4' : 'bf16'}`,
        '--adapter_layout=peft-fused',
        '--max_steps=20',
        '--compute_dtype=f32',
        '--max_seq_length=64',
        '--learning_rate=0.02',
        '--lr_scheduler_type=constant',
        '--per_device_train_batch_size=4',
        '--gradient_accumulation_steps=1',
        '--lora_rank=4',
        '--lora_alpha=8',
        '--lora_expert_rank=2',
        '--overwrite=true',
      ],
    }),
  )
  // A byte is a token, after three special ones; a document ends with one of them.
  const documents = texts.map(text => [...[...Buffer.from(text)].map(byte => byte + 3), 2])
  const last = trained.evaluations.at(-1)
  writeFileSync(
    at('loss.json'),
    JSON.stringify({ first: trained.metrics[0]?.loss, last: last?.loss, tokens: last?.tokens, documents }),
  )
}
