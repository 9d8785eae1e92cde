/** A program as text, one line per step, for golden tests and for people. */
import { attrsOf, typeText } from '@cairn-tune/ops'
import type { Plan } from './plan.ts'
import type { Program, Step, Tensor } from './program.ts'

/**
 * `%3 = rms_norm(x: %1, weight: model.norm.weight) {eps: 0.000001} → bf16 (64, 1024)`, with locations if a
 * plan is given.
 */
export function programText(program: Program, plan?: Plan): string {
  const inputs = program.tensors
    .filter(tensor => tensor.isInput)
    .map(tensor => `input ${tensor.name}: ${typeText(tensor)}`)
  const outputs = Object.entries(program.outputs).map(([name, tensor]) => `output ${name}: ${nameOf(tensor)}`)
  return [...inputs, ...blockLines(program, step => stepText(step, plan)), ...outputs, ''].join('\n')
}

function blockLines({ steps }: Program, text: (step: Step) => string): string[] {
  let heading = ''
  return steps.flatMap(step => {
    const next =
      step.phase === 'backward' && step.block
        ? `${step.block}, again`
        : step.phase === 'backward'
          ? 'backward'
          : (step.block ?? '')
    const lines = next !== heading && next !== '' ? [`# ${next}`, text(step)] : [text(step)]
    heading = next
    return lines
  })
}

function stepText(step: Step, plan: Plan | undefined): string {
  const inputs = Object.entries(step.inputs).flatMap(([name, tensor]) =>
    tensor ? [`${name}: ${nameOf(tensor)}`] : [],
  )
  const outputs = Object.values(step.outputs)
  const types = outputs.map(tensor => typeText(tensor) + placementText(tensor, plan))
  return (
    `${outputs.map(nameOf).join(', ')} = ${step.op}(${inputs.join(', ')})${attrsText(step)} → ` +
    `${types.join(', ')}`
  )
}

const nameOf = (tensor: Tensor) => (tensor.isInput ? (tensor.name ?? '') : `%${tensor.id}`)

/** Optional attributes are shown if they are not 0. */
function attrsText({ op, attrs }: Step): string {
  const entries = attrsOf(op)
    .map(({ name, isOptional }) => [name, attrs[name], isOptional] as const)
    .filter(([, value, isOptional]) => !isOptional || value !== 0)
  return entries.length === 0 ? '' : ` {${entries.map(([name, value]) => `${name}: ${value}`).join(', ')}}`
}

function placementText(tensor: Tensor, plan: Plan | undefined): string {
  const place = plan?.placements.get(tensor)
  if (!place) return ''
  return 'offset' in place ? ` @${place.offset}` : ` in ${place.binding}`
}
