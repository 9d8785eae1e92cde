/**
 * gpt-oss as a GGUF file: experts stay in MXFP4 bit for bit, and settings without a GGUF key are rejected.
 */
import { FAMILIES, readModelConfig } from '@cairn-tune/models'
import { writeModelFromConfig } from '@cairn-tune/train'
import { decodeFloats, openMappedCheckpoint, readAdapter } from '@cairn-tune/weights'
import { openGguf } from '@cairn-tune/weights/gguf/gguf-file'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeStage } from './gguf-stage.ts'

const { at, exportTo, trainOn, answer, remove } = await makeStage('gguf-oss')
const keysOf = (over: Readonly<Record<string, unknown>> = {}) => ({
  ...FAMILIES.gpt_oss.defaults,
  model_type: 'gpt_oss' as const,
  vocab_size: 320,
  hidden_size: 64,
  intermediate_size: 32,
  num_hidden_layers: 2,
  head_dim: 16,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  num_local_experts: 6,
  num_experts_per_tok: 2,
  sliding_window: 8,
  max_position_embeddings: 256,
  rope_scaling: {
    rope_type: 'yarn',
    factor: 4,
    beta_fast: 32,
    beta_slow: 1,
    truncate: false,
    original_max_position_embeddings: 64,
  },
  initializer_range: 0.2,
  quantization_config: { quant_method: 'mxfp4' },
  ...over,
})
beforeAll(async () => {
  await writeModelFromConfig(at('oss'), keysOf(), 1)
  await exportTo('oss.gguf', at('oss'))
})
afterAll(remove)

test('gates and ups are split and read back with every code, scale and key', async () => {
  const file = await openGguf(at('oss.gguf'))
  expect(file.tensors.get('blk.1.ffn_up_exps.weight')).toMatchObject({ type: 'MXFP4', shape: [6, 32, 64] })
  expect(file.tensors.get('blk.1.ffn_gate_exps.bias')).toMatchObject({ type: 'F32', shape: [6, 32] })
  expect(file.tensors.get('blk.1.ffn_gate_inp.weight')).toMatchObject({ type: 'F32', shape: [6, 64] })
  await file.close()
  const [own, from] = [await openMappedCheckpoint(at('oss.gguf')), await openMappedCheckpoint(at('oss'))]
  expect([...own.tensors.keys()].toSorted()).toEqual([...from.tensors.keys()].toSorted())
  for (const [name, { dtype, shape }] of from.tensors) {
    const found = own.tensors.get(name)
    expect(found?.shape, name).toEqual(shape)
    if (found?.dtype === dtype) expect(await own.read(name), name).toEqual(await from.read(name))
    else {
      const expected = decodeFloats(dtype as 'BF16', await from.read(name))
      expect(decodeFloats(found?.dtype as 'F32', await own.read(name)), name).toEqual(expected)
    }
  }
  expect(await readModelConfig(at('oss.gguf'))).toEqual({
    ...(await readModelConfig(at('oss'))),
    initializer_range: 0.02,
    eos_token_ids: [2],
    pad_token_id: 0,
  })
})

test('the file serves the same answers with bit-identical log-probabilities', async () => {
  expect(await answer('oss.gguf')).toEqual(await answer('oss'))
})

test('the file trains, and its adapter is exported as separate stacks of gates and ups', async () => {
  const adapter = await trainOn('oss.gguf', { recipe: 'qfp4' })
  await exportTo('adapter.gguf', adapter)
  const file = await openGguf(at('adapter.gguf'))
  const rows = async (part: string) => {
    const tensor = file.tensors.get(`blk.0.ffn_${part}_exps.weight.lora_b`)
    expect(tensor?.shape).toEqual([6, 32, 4])
    return decodeFloats('F32', await file.read(tensor!))
  }
  const { tensors } = await readAdapter(adapter)
  const fifth = tensors.find(
    ({ name }) => name === 'model.layers.0.mlp.experts.5.gate_up_proj.lora_B.weight',
  )?.values
  const [gates, ups] = [await rows('gate'), await rows('up')]
  for (let row = 0; row < 32; row++) {
    const place = (5 * 32 + row) * 4
    expect(gates.subarray(place, place + 4)).toEqual(fifth?.subarray(8 * row, 8 * row + 4))
    expect(ups.subarray(place, place + 4)).toEqual(fifth?.subarray(8 * row + 4, 8 * row + 8))
  }
  await file.close()
})

test.each([
  [
    'windows of all layers',
    { layer_types: ['sliding_attention', 'sliding_attention'] },
    'layer 1 does not follow this pattern',
  ],
  ['no windows', { sliding_window: null }, 'layer 0 does not follow this pattern'],
  ['another clamp', { swiglu_limit: 5 }, 'cannot write swiglu_alpha 1.702 and swiglu_limit 5'],
  [
    'another scaling',
    { rope_scaling: { rope_type: 'linear', factor: 2 } },
    'cannot write rope scaling "linear"',
  ],
])('rejects by name: %s', async (name, over, message) => {
  await writeModelFromConfig(at(name), keysOf(over), 1)
  await expect(exportTo(`${name}.gguf`, at(name))).rejects.toThrow(message)
})

test('rejects experts of another type by name', async () => {
  await exportTo('q8.gguf', at('oss'), '--type', 'q8_0')
  await expect(openMappedCheckpoint(at('q8.gguf'))).rejects.toThrow(
    /tensor "blk\.0\.ffn_(down|gate|up)_exps\.weight" is Q8_0; in gpt-oss it must be MXFP4/,
  )
})
