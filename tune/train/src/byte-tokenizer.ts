/**
 * A tokenizer of single bytes with a chat template, for small models made from scratch, which need no
 * vocabulary of their own.
 */

const SPECIAL = ['<|endoftext|>', '<|im_start|>', '<|im_end|>'] as const
/** Ids in use: three special tokens, then the 256 bytes in order. */
export const BYTE_VOCABULARY = SPECIAL.length + 256
export const END_OF_TEXT = 0
export const END_OF_TURN = 2

/**
 * The character that stands for a byte in byte-level vocabularies: the byte's own if visible, otherwise the
 * next free one from U+0100 on.
 */
function byteSigns(): string[] {
  const isVisible = (byte: number) =>
    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff)
  let free = 0x100
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isVisible(byte) ? byte : free++))
}

// Without tools: turns between <|im_start|> and <|im_end|>. With tools, the first system turn ends with their
// definitions, and calls are in <tool_call> tags, the format that the server parses.
const CHAT_TEMPLATE = `{%- if tools -%}
{{- '<|im_start|>system\\n' -}}
{%- if messages[0].role == 'system' -%}{{- messages[0].content ~ '\\n\\n' -}}{%- endif -%}
{{- '<tools>\\n' -}}
{%- for tool in tools -%}{{- (tool | tojson) ~ '\\n' -}}{%- endfor -%}
{{- '</tools><|im_end|>\\n' -}}
{%- endif -%}
{%- for message in messages -%}
{%- if not (tools and loop.first and message.role == 'system') -%}
{{- '<|im_start|>' ~ message.role ~ '\\n' -}}
{%- if message.role == 'assistant' -%}
{%- generation -%}
{{- message.content or '' -}}
{%- for made in message.tool_calls or [] -%}
{{- '\\n' if message.content or not loop.first else '' -}}
{%- set given = made.function.arguments -%}
{{- '<tool_call>\\n{"name": ' ~ (made.function.name | tojson) ~ ', "arguments": ' -}}
{{- (given if given is string else given | tojson) ~ '}\\n</tool_call>' -}}
{%- endfor -%}
{{- '<|im_end|>\\n' -}}
{%- endgeneration -%}
{%- else -%}{{- message.content ~ '<|im_end|>\\n' -}}{%- endif -%}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}
`

/** The tokenizer files of a model directory: file name → text. */
export function byteTokenizerFiles(): Record<string, string> {
  const vocab = Object.fromEntries([...SPECIAL, ...byteSigns()].map((token, id) => [token, id]))
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true }
  const tokenizer = {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: SPECIAL.map((content, id) => ({
      id,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    })),
    normalizer: null,
    pre_tokenizer: byteLevel,
    post_processor: null,
    decoder: byteLevel,
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab,
      merges: [],
    },
  }
  const config = {
    tokenizer_class: 'PreTrainedTokenizerFast',
    eos_token: SPECIAL[END_OF_TURN],
    pad_token: SPECIAL[END_OF_TEXT],
    clean_up_tokenization_spaces: false,
    model_max_length: 40960,
  }
  return {
    'tokenizer.json': `${JSON.stringify(tokenizer)}\n`,
    'tokenizer_config.json': `${JSON.stringify(config, null, 2)}\n`,
    'chat_template.jinja': CHAT_TEMPLATE,
  }
}
