/** The specification of an op in the table; ops.ts explains the notation. */

/** `dtype` is f32 or bf16, `storage` any dtype in which a weight is stored. */
export type AttrKind = 'f32' | 'i32' | 'dtype' | 'storage' | 'arithmetic' | 'linear_arithmetic'

export type OpSpec = {
  doc: string
  inputs: Readonly<Record<string, string>>
  attrs: Readonly<Record<string, AttrKind>>
  /** Letters of dims whose sizes attributes give. */
  sizes?: Readonly<Record<string, string>>
  outputs: Readonly<Record<string, string>>
  inPlace?: Readonly<Record<string, string>>
  /** Outputs that a program may write over an input, which the op adds to them last. */
  overwrites?: Readonly<Record<string, string>>
}

/** Keeps the literal types of a spec. */
export const op = <const S extends OpSpec>(spec: S): S => spec
