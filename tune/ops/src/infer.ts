/**
 * Output types of an op: checks its inputs against the op table and returns dtype and shape of each output.
 */
import { DTYPES, DTYPE_NAMES, partsOf, type Dtype, type Shape } from './dtypes.ts'
import {
  ARITHMETICS,
  LINEAR_ARITHMETICS,
  attrsOf,
  inputsOf,
  isScaled,
  specOf,
  type Attrs,
  type OpName,
} from './ops.ts'
import type { AttrKind } from './op-spec.ts'

export type TensorType = { dtype: Dtype; shape: Shape }
export type InputTypes = Readonly<Record<string, TensorType | undefined>>

/** Dtypes of activations and of trainable tensors. */
export const FLOATS: readonly Dtype[] = ['f32', 'bf16']
const weights = DTYPE_NAMES.filter(name => name !== 'i32' && !name.startsWith('dynamic8'))

/** `bf16 (2, 3)`, as programs and messages print it. */
export const typeText = ({ dtype, shape }: TensorType) => `${dtype} (${shape.join(', ')})`

/** Types of an op's outputs by name. Throws if an input or attribute does not match the table. */
export function inferOutputs(name: OpName, inputs: InputTypes, attrs: Attrs): Record<string, TensorType> {
  const spec = specOf(name)
  const fail = (message: string): never => {
    throw new Error(`[${name}] ${message}`)
  }
  checkNames(
    name,
    Object.keys(inputs),
    inputsOf(name).map(input => input.name),
    'input',
  )
  checkNames(
    name,
    Object.keys(attrs),
    attrsOf(name).map(attr => attr.name),
    'attribute',
  )
  for (const attr of attrsOf(name))
    checkAttr(name, attr.name, attr.kind, attr.isOptional ? (attrs[attr.name] ?? 0) : attrs[attr.name])

  const sizes = new Sizes()
  for (const [letter, attr] of Object.entries(spec.sizes ?? {})) {
    const value = Number(attrs[attr])
    if (!Number.isInteger(value) || value < 1) fail(`${attr} must be a positive integer, got ${value}`)
    sizes.set(letter, value)
  }
  for (const input of inputsOf(name)) {
    const given = inputs[input.name]
    if (!given) {
      if (!input.isOptional) fail(`${input.name} is missing`)
      continue
    }
    const [wanted, dims] = split(input.type)
    const allowed = allowedDtypes(wanted, inputs, attrs)
    if (!allowed.includes(given.dtype))
      fail(`${input.name} must be ${allowed.join(' or ')}, got ${given.dtype}`)
    if (!sizes.match(dims, given.shape))
      fail(`${input.name} must be ${sizes.describe(dims)}, got (${given.shape.join(', ')})`)
    partsOf(given.dtype, given.shape)
  }
  checkPair(inputs, fail)
  checkScale(inputs, attrs, fail)
  const outputs = Object.entries(spec.outputs).map(([key, type]) => {
    const [wanted, dims] = split(type)
    return [key, { dtype: outputDtype(wanted, inputs, attrs), shape: sizes.shape(dims) }] as const
  })
  for (const [, { dtype, shape }] of outputs) partsOf(dtype, shape)
  return Object.fromEntries(outputs)
}

// The second operand pair of a matmul must be complete or absent.
function checkPair(inputs: InputTypes, fail: (message: string) => never): void {
  if ((inputs.a2 === undefined) !== (inputs.b2 === undefined)) fail('a2 and b2 must be given together')
}

// A scaled arithmetic needs the tensor that its scale follows. Others must not have one.
function checkScale(inputs: InputTypes, { arithmetic }: Attrs, fail: (message: string) => never): void {
  const scaled = LINEAR_ARITHMETICS.filter(isScaled)
  const needs = scaled.some(one => one === arithmetic)
  if (needs && !inputs.a_amax) fail(`${arithmetic} needs a_amax to scale by`)
  if (!needs && inputs.a_amax) fail(`a_amax is only for ${scaled.join(' and ')}`)
}

function checkNames(op: string, given: string[], known: string[], what: string): void {
  const unknown = given.find(key => !known.includes(key))
  if (unknown !== undefined)
    throw new Error(`[${op}] has no ${what} ${unknown}; known: ${known.join(', ') || 'none'}`)
}

function checkAttr(op: string, key: string, kind: AttrKind, value: number | string | undefined): void {
  const isRight = {
    f32: () => typeof value === 'number' && !Number.isNaN(value),
    i32: () => Number.isInteger(value),
    dtype: () => FLOATS.some(dtype => dtype === value),
    storage: () => weights.some(dtype => dtype === value),
    arithmetic: () => ARITHMETICS.some(arithmetic => arithmetic === value),
    linear_arithmetic: () => LINEAR_ARITHMETICS.some(arithmetic => arithmetic === value),
  }[kind]()
  const wanted = {
    f32: 'a number',
    i32: 'an integer',
    dtype: FLOATS.join(' or '),
    storage: weights.join(' or '),
    arithmetic: ARITHMETICS.join(' or '),
    linear_arithmetic: LINEAR_ARITHMETICS.join(' or '),
  }[kind]
  if (!isRight)
    throw new Error(`[${op}] ${key} must be ${wanted}, got ${value === undefined ? 'nothing' : value}`)
}

function split(type: string): [dtype: string, dims: string[]] {
  const found = /^(\S+) \((.*)\)$/.exec(type)
  if (!found) throw new Error(`unreadable type in the op table: ${type}`)
  return [found[1] ?? '', (found[2] ?? '').split(', ')]
}

function allowedDtypes(wanted: string, inputs: InputTypes, attrs: Attrs): readonly Dtype[] {
  if (wanted === 'float') return FLOATS
  if (wanted === 'weight') return weights
  if (wanted.startsWith('=')) {
    const other = inputs[wanted.slice(1)]
    return other ? [other.dtype] : FLOATS
  }
  if (wanted.startsWith('@')) return [attrs[wanted.slice(1)] as Dtype]
  return [wanted as Dtype]
}

function outputDtype(wanted: string, inputs: InputTypes, attrs: Attrs): Dtype {
  if (wanted.startsWith('=')) return inputs[wanted.slice(1)]?.dtype ?? 'f32'
  if (wanted.startsWith('@')) return attrs[wanted.slice(1)] as Dtype
  if (!(wanted in DTYPES)) throw new Error(`unknown output dtype in the op table: ${wanted}`)
  return wanted as Dtype
}

/** Sizes for the letters of one op's dims, assigned as its inputs are read. */
class Sizes {
  private readonly known = new Map<string, number>()
  private rest: Shape | undefined

  set(letter: string, size: number): void {
    this.known.set(letter, size)
  }

  /** Whether a shape matches the dims. A letter without a size takes it from the shape. */
  match(dims: string[], shape: Shape): boolean {
    if (dims[0] === '...') {
      this.rest ??= shape
      return this.rest.length === shape.length && this.rest.every((size, i) => size === shape[i])
    }
    if (dims.length !== shape.length) return false
    return dims.every((dim, i) => this.matchOne(dim, shape[i] ?? 0))
  }

  private matchOne(dim: string, size: number): boolean {
    const unknown: string[] = []
    let product = 1
    for (const factor of dim.split('*')) {
      const value = this.valueOf(factor)
      if (value === undefined) unknown.push(factor)
      else product *= value
    }
    const letter = unknown[0]
    if (letter === undefined) return product === size
    if (unknown.length > 1 || size % product !== 0) return false
    this.known.set(letter, size / product)
    return true
  }

  private valueOf(factor: string): number | undefined {
    return /^\d+$/.test(factor) ? Number(factor) : this.known.get(factor)
  }

  shape(dims: string[]): Shape {
    if (dims[0] === '...') return this.rest ?? []
    return dims.map(dim =>
      dim.split('*').reduce((product, factor) => product * (this.valueOf(factor) ?? 0), 1),
    )
  }

  /** `(T, C)=(7, 64)`; a letter without a size stays a letter. */
  describe(dims: string[]): string {
    if (dims[0] === '...') return `(${(this.rest ?? []).join(', ')})`
    const sizes = dims.map(dim =>
      dim.split('*').every(factor => this.valueOf(factor) !== undefined) ? String(this.shape([dim])[0]) : dim,
    )
    return `(${dims.join(', ')})=(${sizes.join(', ')})`
  }
}
