/** Gateways, and programs that people run themselves. */
import type { ZooProfile } from './profile.ts'
import { NAME, TOO_LONG, BAD_NAME, UNPAIRED, ALTERNATE, NO_VISION, BAD_ARGUMENTS } from './words.ts'

export const PROGRAMS = {
  'anthropic-gateway': {
    docs: 'https://docs.litellm.ai/docs/anthropic_unified',
    protocol: 'anthropic',
    error: 'anthropic',
    limits: { name: NAME },
    refuses: {
      adaptive_thinking: [400, "thinking.type: Input should be 'enabled' or 'disabled'"],
      empty_content: [400, 'messages: text content blocks must be non-empty'],
      unpaired_result: [400, 'unexpected `tool_use_id` found in `tool_result` blocks: $'],
      too_long: [400, 'Input is too long for requested model.'],
    },
    answer: { nameless_events: true, usage: 'text' },
  },
  openrouter: {
    docs: 'https://openrouter.ai/docs/api-reference/errors',
    protocol: 'openai',
    error: 'wrapped',
    limits: { name: NAME, id: /^.{1,64}$/ },
    refuses: { bad_name: BAD_NAME, unpaired_result: UNPAIRED, too_long: TOO_LONG },
    answer: {
      opening: ': OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n',
      reasoning: 'details',
      role: 'each',
      extra: { provider: 'X' },
    },
  },
  litellm: {
    docs: 'https://docs.litellm.ai/docs/exception_mapping',
    protocol: 'openai',
    error: 'openai',
    refuses: {
      stream_options: [
        400,
        "litellm.UnsupportedParamsError: x does not support parameters: ['stream_options'], for model=x",
        '400',
      ],
      unpaired_result: [400, `litellm.BadRequestError: OpenAIException - ${UNPAIRED[1]}`, '400'],
      too_long: [
        400,
        `litellm.ContextWindowExceededError: litellm.BadRequestError: OpenAIException - ${TOO_LONG[1]}`,
        '400',
      ],
    },
    answer: { usage: 'chunk', reasoning: 'reasoning_content' },
  },
  tgi: {
    docs: 'https://huggingface.co/docs/text-generation-inference/messages_api',
    protocol: 'openai',
    error: 'string',
    refuses: {
      same_role_twice: [422, 'Template error: conversation roles must alternate ($ twice)'],
      unpaired_result: [422, 'Template error: unknown tool_call_id $'],
      too_long: [
        422,
        'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8192. Given: $ `inputs` tokens and 100 `max_new_tokens`',
      ],
    },
    answer: {
      call_id: 'digits',
      call_index: 'text',
      calls: 'bare',
      call_name: 'each',
      finish: { stop: 'eos_token', tool_calls: 'stop' },
      usage: 'finish',
      role: 'each',
    },
  },
  vllm: {
    docs: 'https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html',
    protocol: 'openai',
    error: 'openai',
    limits: { pictures: 1 },
    refuses: {
      same_role_twice: ALTERNATE,
      late_system: [400, 'System role must be at the beginning, found one at $'],
      bad_arguments: BAD_ARGUMENTS,
      many_pictures: [400, 'At most 1 image(s) may be provided in one prompt.', 'BadRequestError'],
      unpaired_result: UNPAIRED,
      too_long: TOO_LONG,
    },
    answer: { reasoning: 'reasoning_content', call_id: 'uuid' },
  },
  sglang: {
    docs: 'https://docs.sglang.ai/basic_usage/openai_api_completions.html',
    protocol: 'openai',
    error: 'flat',
    refuses: {
      bad_arguments: BAD_ARGUMENTS,
      unpaired_result: UNPAIRED,
      too_long: [
        400,
        "Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of $ tokens.",
      ],
    },
    answer: { reasoning: 'reasoning_content', usage: 'chunk', role: 'each' },
  },
  'llama.cpp': {
    docs: 'https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md',
    protocol: 'openai',
    error: 'openai',
    refuses: {
      pictures: [
        500,
        'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj',
        '500',
      ],
      same_role_twice: [
        500,
        'Conversation roles must alternate user/assistant/user/assistant/... at row 1 ($)',
        '500',
      ],
      bad_arguments: [500, 'Failed to parse tool call arguments as JSON: $', '500'],
      unpaired_result: [500, 'unknown tool call $', '500'],
      too_long: [
        400,
        'the request exceeds the available context size. try increasing the context size or enable context shift',
        'exceed_context_size_error',
      ],
    },
    answer: { extra: { timings: { prompt_ms: 1 } }, reasoning: 'reasoning_content', call_id: 'digits' },
  },
  ollama: {
    docs: 'https://docs.ollama.com/api/openai-compatibility',
    protocol: 'openai',
    error: 'openai',
    refuses: {
      pictures: [400, 'this model is missing data required for image input', 'api_error'],
      unpaired_result: [400, 'unknown tool call $', 'api_error'],
      too_long: [400, 'prompt too long; exceeded max context length by $ tokens', 'invalid_request_error'],
    },
    answer: { calls: 'whole', role: 'each', reasoning: 'reasoning', finish: { tool_calls: 'stop' } },
  },
  'lm-studio': {
    docs: 'https://lmstudio.ai/docs/developer/openai-compat',
    protocol: 'openai',
    error: 'string',
    refuses: {
      pictures: NO_VISION,
      same_role_twice: [
        400,
        'Error rendering prompt with jinja template: Conversation roles must alternate, $ twice',
      ],
      unpaired_result: [400, 'Error rendering prompt with jinja template: unknown tool call $'],
      too_long: [
        400,
        'The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length, or provide a shorter input',
      ],
    },
    answer: { call_id: 'digits', call_name: 'pieces', usage: 'none' },
  },
  mlx: {
    docs: 'https://github.com/cubist38/mlx-openai-server',
    protocol: 'openai',
    error: 'detail',
    refuses: {
      unpaired_result: [404, 'unknown tool call $'],
      too_long: [422, 'Prompt exceeds max length'],
    },
    answer: { call_id: 'changing', finish: { stop: null }, usage: 'none' },
  },
  'foundry-local': {
    docs: 'https://learn.microsoft.com/azure/ai-foundry/foundry-local/reference/reference-rest',
    protocol: 'openai',
    error: 'openai',
    refuses: {
      unpaired_result: UNPAIRED,
      too_long: [400, 'Input length exceeds the maximum sequence length of 8192'],
    },
    answer: {
      choice_index: 'growing',
      content_type: 'application/json',
      extra: { error: {}, IsDelta: true },
      calls: 'whole',
      usage: 'text',
    },
  },
  'no-streaming': {
    docs: 'https://github.com/microsoft/foundry-dev-tools/issues/195',
    protocol: 'openai',
    error: 'fastapi',
    refuses: {
      stream_options: [422, 'Extra inputs are not permitted', 'extra_forbidden', 'stream_options'],
      unpaired_result: [422, 'unknown tool call $', 'value_error', 'messages'],
      too_long: [422, 'total message size $ exceeds limit 8192', 'value_error', 'messages'],
    },
    answer: { framing: 'json', content_type: 'text/plain' },
  },
} as const satisfies Record<string, ZooProfile>
