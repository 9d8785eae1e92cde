/**
 * Grammars as data: which texts are allowed, byte by byte. Texts are UTF-8, so a character has one or more
 * bytes.
 */
export type Expression =
  | { readonly kind: 'bytes'; readonly set: Uint8Array }
  | { readonly kind: 'sequence'; readonly parts: readonly Expression[] }
  | { readonly kind: 'choice'; readonly options: readonly Expression[] }
  | { readonly kind: 'repeat'; readonly of: Expression; readonly min: number; readonly max: number }
  | { readonly kind: 'rule'; readonly name: string }

export type Grammar = { root: string; rules: ReadonlyMap<string, Expression> }

/** Both ends are included. */
export type Range = readonly [from: number, to: number]
