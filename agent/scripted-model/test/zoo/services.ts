/** Services that run models for others. */
import type { ZooProfile } from './profile.ts'
import { NAME, STARTS_WITH_LETTER, TOO_LONG, BAD_NAME, UNPAIRED, ALTERNATE } from './words.ts'

export const SERVICES = {
  openai: {
    docs: 'https://platform.openai.com/docs/api-reference/chat',
    protocol: 'openai',
    error: 'openai',
    limits: { name: NAME, id: /^.{1,40}$/, tools: 128, description: 1024 },
    refuses: {
      max_tokens: [
        400,
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        'unsupported_parameter',
        'max_tokens',
      ],
      bad_name: BAD_NAME,
      bad_id: [
        400,
        "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, got '$'.",
        'string_above_max_length',
        'messages[2].tool_calls[0].id',
      ],
      long_description: [
        400,
        "Invalid 'tools[#].function.description': string too long. Expected a string with maximum length 1024.",
        'string_above_max_length',
        'tools[0].function.description',
      ],
      many_tools: [
        400,
        "Invalid 'tools': array too long. Expected an array with maximum length 128, but got $.",
        'array_above_max_length',
        'tools',
      ],
      unpaired_result: UNPAIRED,
      too_long: TOO_LONG,
    },
    answer: { extra: { system_fingerprint: 'fp_1', service_tier: 'default', obfuscation: 'x9' } },
  },
  azure: {
    docs: 'https://learn.microsoft.com/azure/ai-services/openai/reference',
    protocol: 'openai',
    error: 'openai',
    limits: { name: NAME, tools: 128, description: 1024 },
    refuses: {
      max_tokens: [
        400,
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        'unsupported_parameter',
        'max_tokens',
      ],
      bad_name: BAD_NAME,
      many_tools: [400, "[] is too long - 'tools'", undefined, 'tools'],
      long_description: [400, "'description' is too long - 'tools.#.function.description'"],
      unpaired_result: UNPAIRED,
      too_long: TOO_LONG,
    },
    answer: {
      first: {
        choices: [],
        model: '',
        object: '',
        prompt_filter_results: [{ prompt_index: 0, content_filter_results: {} }],
      },
    },
  },
  anthropic: {
    docs: 'https://docs.anthropic.com/en/api/messages',
    protocol: 'anthropic',
    error: 'anthropic',
    limits: { name: /^[a-zA-Z0-9_-]{1,128}$/, id: /^[a-zA-Z0-9_-]+$/ },
    refuses: {
      bad_name: [400, "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$', got '$'"],
      bad_id: [
        400,
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$', got '$'",
      ],
      empty_content: [400, 'messages: text content blocks must be non-empty'],
      unpaired_result: [
        400,
        'messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: $.',
      ],
      too_long: [400, 'prompt is too long: $ tokens > 8192 maximum'],
    },
    answer: { reasoning: 'reasoning_content' },
  },
  gemini: {
    docs: 'https://ai.google.dev/gemini-api/docs/openai',
    protocol: 'openai',
    error: 'list',
    limits: { name: /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/, keywords: ['exclusiveMinimum', 'propertyNames'] },
    refuses: {
      bad_name: [
        400,
        'Invalid function name $. Must start with a letter or an underscore.',
        'INVALID_ARGUMENT',
      ],
      no_signature: [
        400,
        'Function call is missing a thought_signature in functionCall parts. Function call `$`, position 2.',
        'INVALID_ARGUMENT',
      ],
      schema_keyword: [
        400,
        'Invalid JSON payload received. Unknown name "$" at \'tools[0].function_declarations[#].parameters\': Cannot find field.',
        'INVALID_ARGUMENT',
      ],
      unpaired_result: [
        400,
        'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
        'INVALID_ARGUMENT',
      ],
      too_long: [
        400,
        'The input token count ($) exceeds the maximum number of tokens allowed (8192).',
        'INVALID_ARGUMENT',
      ],
    },
    answer: {
      calls: 'whole',
      call_index: 'zero',
      signatures: true,
      usage: 'each',
      role: 'each',
      finish: { tool_calls: 'stop' },
    },
  },
  mistral: {
    docs: 'https://docs.mistral.ai/api/',
    protocol: 'openai',
    error: 'flat',
    limits: { name: NAME, id: /^[a-zA-Z0-9]{9}$/, pictures: 8 },
    refuses: {
      user_after_tool: [400, "Unexpected role 'user' after role 'tool'", '3230'],
      bad_id: [400, 'Tool call id was $ but must be a-z, A-Z, 0-9, with a length of 9.', '3280'],
      many_pictures: [400, 'Too many images in request: $. The maximum is 8.', '3310'],
      stream_options: [422, 'Extra inputs are not permitted: stream_options'],
      max_completion_tokens: [422, 'Extra inputs are not permitted: max_completion_tokens'],
      unpaired_result: [400, 'Not the same number of function calls and responses', '3230'],
      too_long: [
        400,
        'Prompt contains $ tokens and 0 draft tokens, too large for model with 8192 maximum context length',
        '3051',
      ],
    },
    answer: { call_id: 'nine', calls: 'whole', usage: 'finish', reasoning: 'parts' },
  },
  deepseek: {
    docs: 'https://api-docs.deepseek.com/guides/thinking_mode',
    protocol: 'openai',
    error: 'openai',
    limits: { name: NAME, tools: 128 },
    refuses: {
      pictures: [
        400,
        'Failed to deserialize the JSON body into the target type: messages[$]: unknown variant `image_url`, expected `text`',
        'invalid_request_error',
      ],
      no_reasoning: [
        400,
        'The reasoning_content in the thinking mode must be passed back to the API.',
        'invalid_request_error',
      ],
      unpaired_result: UNPAIRED,
      too_long: TOO_LONG,
    },
    answer: {
      reasoning: 'reasoning_content',
      opening: ': keep-alive\n\n: keep-alive\n\n',
      usage: 'finish',
      call_id: 'numbered',
    },
  },
  moonshot: {
    docs: 'https://platform.moonshot.ai/docs/api/chat',
    protocol: 'openai',
    error: 'openai',
    limits: { name: STARTS_WITH_LETTER, tools: 128 },
    refuses: {
      bad_name: [
        400,
        'Invalid request: function name is invalid, must start with a letter: $',
        'invalid_request_error',
      ],
      bad_arguments: [
        400,
        'Invalid request: tool call arguments must be valid JSON: $',
        'invalid_request_error',
      ],
      no_reasoning: [
        400,
        'thinking is enabled but reasoning_content is missing in assistant tool call message at index $',
        'invalid_request_error',
      ],
      empty_content: [
        400,
        'Invalid request: message at position $ must not be empty',
        'invalid_request_error',
      ],
      unpaired_result: [400, 'Invalid request: tool_call_id $ is not found', 'invalid_request_error'],
      too_long: [
        400,
        'Invalid request: Your request exceeded model token limit: 8192 (requested: $)',
        'invalid_request_error',
      ],
    },
    answer: { reasoning: 'reasoning_content', call_id: 'numbered', usage: 'choice' },
  },
  dashscope: {
    docs: 'https://help.aliyun.com/zh/model-studio/error-code',
    protocol: 'openai',
    error: 'openai',
    limits: { name: NAME },
    refuses: {
      bad_arguments: [
        400,
        '<400> InternalError.Algo.InvalidParameter: The "function.arguments" parameter of the code model must be in JSON format.',
        'invalid_parameter_error',
      ],
      unpaired_result: [
        400,
        '<400> InternalError.Algo.InvalidParameter: messages with role "tool" must be a response to a preceding message with "tool_calls".',
        'invalid_parameter_error',
      ],
      too_long: [
        400,
        '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 8192]',
        'invalid_parameter_error',
      ],
    },
    answer: { reasoning: 'reasoning_content', call_id: 'empty_after', role: 'empty' },
  },
  zhipu: {
    docs: 'https://docs.bigmodel.cn/cn/api/api-code',
    protocol: 'openai',
    error: 'numbered',
    refuses: {
      unpaired_result: [400, 'messages 参数非法。请检查文档。', '1214'],
      too_long: [400, 'Prompt exceeds max length', '1261'],
    },
    answer: { reasoning: 'reasoning_content', calls: 'whole', usage: 'finish', call_id: 'digits' },
  },
  minimax: {
    docs: 'https://platform.minimax.io/docs/api-reference/text-openai-api',
    protocol: 'openai',
    error: 'openai',
    refuses: {
      unpaired_result: [
        400,
        'invalid params, tool call result does not follow tool call (2013)',
        'bad_request_error',
      ],
      too_long: [400, 'invalid params, context window exceeds limit (2013)', 'bad_request_error'],
    },
    answer: {
      role: 'empty',
      final_message: true,
      reasoning: 'details',
      extra: {
        input_sensitive: false,
        output_sensitive: false,
        usage: { total_tokens: 0, total_characters: 0 },
      },
    },
  },
  groq: {
    docs: 'https://console.groq.com/docs/openai',
    protocol: 'openai',
    error: 'openai',
    limits: { name: NAME, tools: 128, pictures: 5 },
    refuses: {
      reasoning_field: [
        400,
        "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property '$' is unsupported)]",
      ],
      many_pictures: [
        400,
        'Too many images provided. This model supports up to 5 images',
        undefined,
        'messages',
      ],
      unpaired_result: UNPAIRED,
      too_long: [
        413,
        'Request too large for model `x` on tokens per minute (TPM): Limit 8192, Requested $, please reduce your message size and try again.',
        'rate_limit_exceeded',
      ],
    },
    answer: { usage: 'groq', reasoning: 'reasoning', calls: 'whole' },
  },
  xai: {
    docs: 'https://docs.x.ai/docs/api-reference',
    protocol: 'openai',
    error: 'numbered',
    refuses: {
      empty_content: [400, 'Each message must have at least one content element.'],
      unpaired_result: [422, 'Failed to deserialize the JSON body into the target type: tool_call_id $'],
      too_long: [400, "This model's maximum prompt length is 8192 but the request contains $ tokens."],
    },
    answer: { calls: 'whole', reasoning: 'reasoning_content', usage: 'each' },
  },
  together: {
    docs: 'https://docs.together.ai/docs/inference-faqs',
    protocol: 'openai',
    error: 'openai',
    refuses: {
      unpaired_result: UNPAIRED,
      too_long: [
        422,
        'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: $ `inputs` tokens and 512 `max_new_tokens`',
        'invalid_request_error',
      ],
    },
    answer: { finish: { stop: 'eos' }, usage: 'finish', role: 'each' },
  },
  fireworks: {
    docs: 'https://docs.fireworks.ai/guides/function-calling',
    protocol: 'openai',
    error: 'openai',
    refuses: {
      reasoning_field: [
        400,
        "Extra inputs are not permitted, field: 'messages[2].$'",
        'invalid_request_error',
      ],
      unpaired_result: UNPAIRED,
      too_long: [
        400,
        'The prompt is too long: $, model maximum context length: 8191',
        'invalid_request_error',
      ],
    },
    answer: { usage: 'finish', call_id: 'uuid', reasoning: 'reasoning_content' },
  },
  cerebras: {
    docs: 'https://inference-docs.cerebras.ai/support/error',
    protocol: 'openai',
    error: 'bare',
    limits: { keywords: ['pattern', 'format', 'minItems', 'maxItems'] },
    refuses: {
      schema_keyword: [400, "Unsupported JSON schema fields: {'$'}", 'wrong_api_format', 'validation_error'],
      reasoning_field: [
        400,
        "messages.2.assistant.$: property 'messages.2.assistant.$' is unsupported",
        'wrong_api_format',
        'validation_error',
      ],
      unpaired_result: UNPAIRED,
      too_long: [
        400,
        'Please reduce the length of the messages or completion. Current length is $ while limit is 8192',
        'context_length_exceeded',
        'messages',
      ],
    },
    answer: { reasoning: 'reasoning', calls: 'whole', usage: 'finish' },
  },
  nvidia: {
    docs: 'https://docs.nvidia.com/nim/large-language-models/latest/api-reference.html',
    protocol: 'openai',
    error: 'flat',
    refuses: { same_role_twice: ALTERNATE, unpaired_result: UNPAIRED, too_long: TOO_LONG },
    answer: { reasoning: 'reasoning_content', call_id: 'uuid' },
  },
  'github-models': {
    docs: 'https://docs.github.com/en/rest/models/inference',
    protocol: 'openai',
    error: 'openai',
    refuses: {
      bad_name: BAD_NAME,
      unpaired_result: UNPAIRED,
      too_long: [413, 'Request body too large for x model. Max size: 8000 tokens.', 'tokens_limit_reached'],
    },
    answer: { first: { choices: [], prompt_filter_results: [] } },
  },
  copilot: {
    docs: 'https://docs.github.com/en/copilot/reference/ai-models/model-comparison',
    protocol: 'openai',
    error: 'openai',
    refuses: {
      unpaired_result: UNPAIRED,
      too_long: [
        400,
        'prompt token count of $ exceeds the limit of 8192',
        'model_max_prompt_tokens_exceeded',
      ],
    },
    answer: { first: { choices: [], prompt_filter_results: [] }, usage: 'finish', call_name: 'each' },
  },
  bedrock: {
    docs: 'https://docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference.html',
    protocol: 'openai',
    error: 'detail',
    limits: { name: /^[a-zA-Z0-9_-]{1,64}$/, id: /^[a-zA-Z0-9_-]{1,64}$/, pictures: 20 },
    refuses: {
      same_role_twice: [
        400,
        'An error occurred (ValidationException) when calling the ConverseStream operation: A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.',
      ],
      empty_content: [
        400,
        'An error occurred (ValidationException) when calling the ConverseStream operation: The content field in the Message object at messages.$ is empty. Add a ContentBlock object to the content field and try again.',
      ],
      bad_id: [
        400,
        "An error occurred (ValidationException) when calling the ConverseStream operation: 1 validation error detected: Value at 'messages.2.member.content.1.member.toolUse.toolUseId' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+",
      ],
      unpaired_result: [
        400,
        'An error occurred (ValidationException) when calling the ConverseStream operation: The number of toolResult blocks at messages.2.content exceeds the number of toolUse blocks of previous turn.',
      ],
      too_long: [
        400,
        'An error occurred (ValidationException) when calling the ConverseStream operation: Input is too long for requested model.',
      ],
    },
    answer: { call_index: 'zero', usage: 'chunk' },
  },
  cloudflare: {
    docs: 'https://developers.cloudflare.com/workers-ai/configuration/open-ai-compatibility/',
    protocol: 'openai',
    error: 'errors',
    refuses: {
      null_content: [
        400,
        "AiError: AiError: Bad input: Error: oneOf at '/' not met: Type mismatch of '/messages/$/content', 'string' not in 'null'",
        '5006',
      ],
      pictures: [
        400,
        "AiError: AiError: Bad input: Error: Type mismatch of '/messages/$/content', 'array' not in 'string'",
        '5006',
      ],
      unpaired_result: [400, 'AiError: AiError: unknown tool call $', '5006'],
      too_long: [
        413,
        'AiError: AiError: The estimated number of input and maximum output tokens ($) exceeded this model context window limit (8192).',
        '5021',
      ],
    },
    answer: { calls: 'whole', usage: 'each', content_type: 'text/event-stream; charset=utf-8' },
  },
  'huggingface-router': {
    docs: 'https://huggingface.co/docs/inference-providers/tasks/chat-completion',
    protocol: 'openai',
    error: 'string',
    refuses: {
      unpaired_result: UNPAIRED,
      too_long: [400, 'Input Tokens Exceeded: Number of input tokens exceeds maximum length.'],
    },
    answer: { framing: 'one_lf', usage: 'finish' },
  },
  databricks: {
    docs: 'https://docs.databricks.com/aws/en/machine-learning/foundation-model-apis/api-reference',
    protocol: 'openai',
    error: 'bare',
    limits: { tools: 32 },
    refuses: {
      many_tools: [400, 'Bad request: the maximum number of tools is 32, got $', 'BAD_REQUEST'],
      empty_content: [400, 'Bad request: message $ has no content', 'BAD_REQUEST'],
      unpaired_result: [400, 'Bad request: unknown tool call $', 'BAD_REQUEST'],
      too_long: [400, 'Bad request', 'BAD_REQUEST'],
    },
    answer: { framing: 'crlf', calls: 'object' },
  },
} as const satisfies Record<string, ZooProfile>
