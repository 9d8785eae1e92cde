/**
 * The tokens that the files beside tokenizer.json name, merged as transformers 5.24 merges them
 * (PreTrainedTokenizerBase._from_pretrained, TokenizersBackend.__init__).
 */
import type { AddedToken } from '@cairn-tune/tokenizers'
import { z } from 'zod'

/** The roles with a token. Other keys that end in `_token` name tokens, too. */
const ROLES = ['bos', 'eos', 'unk', 'sep', 'pad', 'cls', 'mask'].map(role => `${role}_token`)
const isRole = (key: string) => ROLES.includes(key)

const flags = {
  single_word: z.boolean().default(false),
  lstrip: z.boolean().default(false),
  rstrip: z.boolean().default(false),
  normalized: z.boolean().optional(),
  special: z.boolean().default(false),
}
const tokenObject = z.looseObject({ content: z.string(), ...flags })
const token = z.union([z.string(), tokenObject])
type Token = z.infer<typeof token>
/** By default, special tokens are matched in the text as written, other ones in the normalized text. */
const addedToken = ({
  content,
  single_word,
  lstrip,
  rstrip,
  special,
  normalized,
}: z.infer<typeof tokenObject>) =>
  ({ content, single_word, lstrip, rstrip, normalized: normalized ?? !special, special }) satisfies AddedToken
const specialToken = (content: string): AddedToken => ({
  content,
  single_word: false,
  lstrip: false,
  rstrip: false,
  normalized: false,
  special: true,
})

const moreTokens = z.union([z.array(token), z.record(z.string(), token)]).nullish()
/** tokenizer_config.json, as far as it names tokens. */
export const tokensConfig = z.looseObject({
  added_tokens_decoder: z.record(z.string().regex(/^\d+$/), tokenObject).optional(),
  extra_special_tokens: moreTokens,
  additional_special_tokens: moreTokens,
  split_special_tokens: z.boolean().nullish(),
})
type TokensConfig = z.infer<typeof tokensConfig>
/** special_tokens_map.json. */
export const tokensMap = z.record(z.string(), z.unknown())
/** added_tokens.json. */
export const addedTokens = z.record(z.string(), z.int().nonnegative())

export type TokenTexts = {
  config: TokensConfig
  /** Read only if the configuration has no `added_tokens_decoder`. */
  map: z.infer<typeof tokensMap>
  added: z.infer<typeof addedTokens>
}

export type SpecialTokens = {
  /** The token of each role that has one, by key: `eos_token`. */
  roles: Record<string, string>
  /** Tokens to add to those of tokenizer.json, in order. */
  add: (AddedToken & { id?: number })[]
}

const isToken = (value: unknown): value is Token => token.safeParse(value).success

/** `own` are the added tokens of tokenizer.json. */
export function specialTokensOf(
  { config, map, added }: TokenTexts,
  own: readonly (AddedToken & { id: number })[],
): SpecialTokens {
  const values: Record<string, unknown> = { ...config }
  const byId = new Map<number, AddedToken>()
  const legacy = config.added_tokens_decoder === undefined
  if (legacy) {
    for (const [key, value] of Object.entries(map)) values[key] = fromMap(key, value, values[key])
    const special = new Set([
      ...ROLES.flatMap(role => textOf(values[role]) ?? []),
      ...extra(values).map(textOf),
    ])
    for (const [content, id] of Object.entries(added))
      byId.set(id, {
        ...specialToken(content),
        normalized: !special.has(content),
        special: special.has(content),
      })
    for (const { id, ...one } of own) byId.set(id, one)
  } else
    for (const [id, one] of Object.entries(config.added_tokens_decoder ?? {}))
      byId.set(Number(id), addedToken(one))

  const known = new Map([...byId.values()].map(one => [one.content, one]))
  const named = namedTokens(values)
  const mapped = named.map(([key, value]): [string, Token] => [
    key,
    (isRole(key) ? known.get(textOf(value) ?? '') : undefined) ?? value,
  ])
  const owns = new Set(own.map(signature))
  const add: SpecialTokens['add'] = [...byId]
    .toSorted(([a], [b]) => a - b)
    .flatMap(([id, one]) => (owns.has(signature(one)) ? [] : [{ id, ...one }]))
  const present = new Set([...own, ...add].map(({ content }) => content))
  for (const value of [...mapped.map(([, one]) => one), ...extra(values)]) {
    const one = typeof value === 'string' ? specialToken(value) : addedToken(value)
    if (present.has(one.content)) continue
    present.add(one.content)
    add.push(one)
  }
  const special = new Set(mapped.map(([, value]) => textOf(value)))
  return {
    roles: Object.fromEntries(
      mapped.flatMap(([key, value]) => (isRole(key) ? [[key, textOf(value) ?? '']] : [])),
    ),
    add: add.map(one => (special.has(one.content) ? { ...one, special: true } : one)),
  }
}

/** The map's value of a key replaces the configuration's, except that lists of further tokens are joined. */
function fromMap(key: string, value: unknown, other: unknown): unknown {
  if (key === 'extra_special_tokens' && Array.isArray(value) && Array.isArray(other))
    return [...other, ...value]
  return isToken(value) && typeof value === 'object' ? { ...value, special: true } : value
}

const textOf = (value: unknown): string | undefined =>
  !isToken(value) ? undefined : typeof value === 'string' ? value : value.content

/** The tokens of roles, then those of other keys. */
function namedTokens(values: Record<string, unknown>): [string, Token][] {
  const { extra_special_tokens: more } = values
  const others = {
    ...Object.fromEntries(Object.entries(values).filter(([key]) => key.endsWith('_token') && !isRole(key))),
    ...(Array.isArray(more) ? {} : (more as object | undefined)),
  }
  return [...ROLES.map(role => [role, values[role]] as const), ...Object.entries(others)].flatMap(
    ([key, value]) => (isToken(value) ? [[key, value] as [string, Token]] : []),
  )
}

/** `additional_special_tokens` is the older name. */
function extra(values: Record<string, unknown>): Token[] {
  const { extra_special_tokens: more, additional_special_tokens: older } = values
  const list = Array.isArray(more) && more.length > 0 ? more : (more ?? older)
  return Array.isArray(list) ? list.filter(isToken) : []
}

/** What makes two added tokens alike, regardless of their ids. */
const signature = ({ content, single_word, lstrip, rstrip, normalized, special }: AddedToken) =>
  JSON.stringify([content, single_word, lstrip, rstrip, normalized, special])
