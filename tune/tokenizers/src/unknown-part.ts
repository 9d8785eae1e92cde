/** Names the part of a tokenizer.json that the library does not have, since its own messages do not. */

/** The kinds of each part in version 0.23. */
const KINDS: Record<string, readonly string[]> = {
  normalizer: [
    'BertNormalizer',
    'Strip',
    'StripAccents',
    'NFC',
    'NFD',
    'NFKC',
    'NFKD',
    'Sequence',
    'Lowercase',
    'Nmt',
    'Precompiled',
    'Replace',
    'Prepend',
    'ByteLevel',
  ],
  pre_tokenizer: [
    'BertPreTokenizer',
    'ByteLevel',
    'CharDelimiterSplit',
    'Metaspace',
    'Whitespace',
    'Sequence',
    'Split',
    'Punctuation',
    'WhitespaceSplit',
    'Digits',
    'UnicodeScripts',
    'FixedLength',
  ],
  model: ['BPE', 'WordPiece', 'WordLevel', 'Unigram'],
  post_processor: ['RobertaProcessing', 'BertProcessing', 'ByteLevel', 'TemplateProcessing', 'Sequence'],
  decoder: [
    'BPEDecoder',
    'ByteLevel',
    'WordPiece',
    'Metaspace',
    'CTC',
    'Sequence',
    'Replace',
    'Fuse',
    'Strip',
    'ByteFallback',
  ],
}
const LISTS = ['normalizers', 'pretokenizers', 'processors', 'decoders']

type Json = Record<string, unknown>
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null

/** A part and the parts of a sequence in it. */
function partsOf(part: unknown): Json[] {
  if (!isObject(part)) return []
  const lists = LISTS.map(name => part[name]).filter(list => Array.isArray(list))
  return [part, ...lists.flat().flatMap(partsOf)]
}

/** Undefined if every part is known, and for what is not JSON. */
export function unknownPart(text: string): string | undefined {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isObject(json)) return undefined
  for (const [name, kinds] of Object.entries(KINDS)) {
    const found = partsOf(json[name]).find(({ type }) => typeof type === 'string' && !kinds.includes(type))
    if (found) return `${name} ${JSON.stringify(found['type'])} is not known; known: ${kinds.join(', ')}`
  }
  return undefined
}
