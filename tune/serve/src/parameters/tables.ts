/** The tables of all routes. */
import { NO_EFFECT, type ParameterTable } from './parameter.ts'
import { RESPONSE_PARAMETERS } from './response-table.ts'

const FORM = 'renamed: use structured_outputs with json, regex, choice or grammar'

/** Keys of both generating routes. */
const SHARED: ParameterTable = {
  model: { done: 'name of the base or of an adapter; default: the base' },
  stream: { done: 'send server-sent events as tokens are generated' },
  stream_options: { done: '`include_usage`, `continuous_usage_stats`; `include_obfuscation` only as false' },
  n: { done: 'number of answers per prompt' },
  seed: { done: 'the same seed gives the same tokens, whatever else is in the batch' },
  stop: { done: 'one or several texts that end the answer' },
  temperature: { done: '0 always picks the most likely token (greedy)' },
  top_p: { done: 'sample only from the most likely tokens whose probabilities add up to this' },
  frequency_penalty: { done: "subtracted from a token's logit for each time the token was generated" },
  presence_penalty: { done: 'subtracted once from the logit of every token that was generated' },
  logit_bias: { done: 'added to the logit of a token, by token id' },
  user: { done: NO_EFFECT },
  top_k: { done: 'sample only from the k most likely tokens; 0 and -1 mean all' },
  min_p: { done: 'sample only from tokens with at least this fraction of the highest probability' },
  repetition_penalty: { done: 'divides or multiplies the logits of tokens in the prompt and the answer' },
  stop_token_ids: { done: 'token ids that end the answer' },
  ignore_eos: { done: 'end tokens do not end the answer' },
  min_tokens: { done: 'no end token before this many tokens' },
  include_stop_str_in_output: { done: 'include the stop text in the answer' },
  skip_special_tokens: { done: 'leave special tokens out of the text; default: true' },
  allowed_token_ids: { done: 'ids of the only tokens that may be sampled' },
  bad_words: { done: 'texts that must not be generated' },
  truncate_prompt_tokens: {
    done: 'keep only this many tokens from the end of the prompt; -1 means as many as fit the context',
  },
  add_special_tokens: { done: 'put the start token before the prompt' },
  return_token_ids: { done: 'also return the token ids of prompt and answer' },
  return_tokens_as_token_ids: { done: 'log-probabilities name tokens as `token_id:…`' },
  cache_salt: { refused: 'all clients of this server share the prefix cache' },
  response_format: { done: '`text`, `json_object`, `json_schema`; the answer always matches it' },
  structured_outputs: { done: 'one of `json`, `regex`, `choice`, `grammar`, `json_object`, as in vLLM' },
  guided_json: { refused: FORM },
  guided_regex: { refused: FORM },
  guided_choice: { refused: FORM },
  guided_grammar: { refused: FORM },
  guided_decoding_backend: { refused: 'there is only one engine' },
  guided_whitespace_pattern: {
    refused: 'white space is always empty, one space, or a line break with indentation',
  },
  structural_tag: { refused: 'use tools' },
  best_of: { refused: 'every generated answer is returned; use n', but: [1] },
  use_beam_search: { refused: 'beam search is not supported', but: [false] },
  length_penalty: { refused: 'only for beam search, which is not supported', but: [1] },
  early_stopping: { refused: 'only for beam search, which is not supported', but: [false] },
  spaces_between_special_tokens: {
    refused: 'the tokenizer decides how special tokens are joined',
    but: [true],
  },
  prompt_logprobs: { refused: 'use echo with logprobs, on /v1/completions' },
  logits_processors: { refused: 'the server does not run code of clients' },
  priority: { refused: 'requests are served in order of arrival', but: [0] },
  request_id: { refused: 'the server assigns request ids' },
  kv_transfer_params: { refused: 'the server does not share its cache with other servers' },
  vllm_xargs: { refused: 'plug-ins are not supported' },
  repetition_detection: { refused: 'repetition does not end an answer; use stop or the penalties' },
  thinking_token_budget: { refused: 'reasoning has no limit of its own; max_tokens limits the whole answer' },
  return_sampling_mask: { refused: 'not supported', but: [false] },
  truncation_side: { refused: 'truncate_prompt_tokens always keeps the last tokens', but: ['left'] },
  logprob_token_ids: { refused: 'log-probabilities cover the most likely tokens; see logprobs' },
  stream_interval: { refused: 'one event is sent per token', but: [1] },
  session_id: { refused: 'requests are independent; send the whole prompt' },
  return_token_offsets: { refused: 'token offsets are not supported', but: [false] },
  return_weight_versions: { refused: 'weights do not change while the server runs', but: [false] },
  routed_experts_prompt_start: { refused: 'chosen experts are not reported', but: [0] },
  watermarking: { refused: 'watermarking is not supported', but: [false] },
  ec_transfer_params: { refused: 'the server does not share its cache with other servers' },
  mm_payload: { refused: 'this model reads only text' },
  return_mm_kwargs: { refused: 'this model reads only text' },
}

const COMPLETION_PARAMETERS: ParameterTable = {
  ...SHARED,
  prompt: { done: 'a text or token ids, or a list of either' },
  max_tokens: { done: 'default: 16; 0 is allowed with echo' },
  echo: { done: 'return the prompt before the answer' },
  logprobs: { done: 'up to 20 alternatives per token; with echo, for the prompt too' },
  best_of: { refused: 'every generated answer is returned; use n', but: ['n'] },
  suffix: { refused: 'the model can only continue a text, not fill a gap' },
  prompt_embeds: { refused: 'prompts must be text or token ids' },
}

const CHAT_PARAMETERS: ParameterTable = {
  ...SHARED,
  messages: { done: "the conversation, rendered by the model's template; content is text or text parts" },
  max_tokens: { done: 'default: as many as fit the context' },
  max_completion_tokens: { done: 'newer name of max_tokens' },
  logprobs: { done: "return log-probabilities of the answer's tokens" },
  top_logprobs: { done: 'up to 20 alternatives per token' },
  tools: { done: 'functions to offer to the model' },
  tool_choice: {
    done: '`none`, `auto`; with `required` or a function the answer is always a valid call',
  },
  parallel_tool_calls: { done: 'false allows at most one call in an answer' },
  chat_template_kwargs: { done: 'variables for the template, such as `enable_thinking`' },
  add_generation_prompt: { done: 'false omits the header that begins an answer' },
  continue_final_message: {
    done: 'the answer continues the last message; needs add_generation_prompt: false',
  },
  documents: { refused: 'put the text of the documents into a message' },
  chat_template: { refused: 'a template is code; set it at startup with --chat-template' },
  echo: { refused: 'a reply contains only the new text', but: [false] },
  include_reasoning: {
    refused: 'reasoning is always sent, as reasoning_content; ignore it if unwanted',
    but: [true],
  },
  reasoning_effort: {
    refused:
      'the template has no effort levels; chat_template_kwargs {"enable_thinking": ' +
      'false} turns reasoning off',
  },
  mm_processor_kwargs: { refused: 'this model reads only text' },
  media_io_kwargs: { refused: 'this model reads only text' },
  return_prompt_text: { refused: 'use return_token_ids to get the tokens of the prompt', but: [false] },
  functions: { refused: 'use tools' },
  function_call: { refused: 'use tool_choice' },
  audio: { refused: 'this model writes only text' },
  modalities: { refused: 'this model writes only text', but: [['text']] },
  prediction: { refused: 'speculative decoding is not supported' },
  web_search_options: { refused: 'the server cannot search the web; offer a tool' },
  store: { refused: 'answers are not stored', but: [false] },
  metadata: { done: NO_EFFECT },
  service_tier: { done: NO_EFFECT },
  safety_identifier: { done: NO_EFFECT },
  prompt_cache_key: { done: 'accepted; the prefix cache matches prompts by their tokens' },
  prompt_cache_retention: { done: 'accepted; cached prefixes stay until space is needed' },
  prompt_cache_options: { done: 'accepted; cached prefixes stay until space is needed' },
  moderation: { refused: 'moderation is not supported' },
  verbosity: { refused: 'the template has no verbosity levels; ask for it in a message' },
}

const LOAD_PARAMETERS: ParameterTable = {
  lora_name: { done: 'name of the adapter, which requests send as model' },
  lora_path: { done: 'directory of the adapter on the server' },
  load_inplace: {
    refused: 'unload the adapter first, so that no answer mixes two adapters',
    but: [false],
  },
  is_3d_lora_weight: { refused: 'only adapters with two-dimensional matrices are supported', but: [false] },
  base_model_name: { refused: 'the server has only one base' },
}

const UNLOAD_PARAMETERS: ParameterTable = {
  lora_name: { done: 'name of the adapter' },
  lora_int_id: { refused: 'adapters are identified by their names' },
}

const TOKENIZE_PARAMETERS: ParameterTable = {
  model: { done: 'the base or an adapter; both have the same tokens' },
  prompt: { done: 'a text' },
  messages: { done: "a conversation, rendered by the model's template" },
  tools: { done: 'functions to offer to the model' },
  add_special_tokens: { done: 'put the start token before the prompt' },
  add_generation_prompt: { done: 'false omits the header that begins an answer' },
  continue_final_message: { done: 'leave the last message open, to be continued' },
  chat_template_kwargs: { done: 'variables for the template' },
  return_token_strs: { done: 'also return the text of each token' },
  chat_template: { refused: 'a template is code; set it at startup with --chat-template' },
  mm_processor_kwargs: { refused: 'this model reads only text' },
  media_io_kwargs: { refused: 'this model reads only text' },
}

const DETOKENIZE_PARAMETERS: ParameterTable = {
  model: { done: 'the base or an adapter; both have the same tokens' },
  tokens: { done: 'token ids' },
}

/** Tables by route, as docs/tune/parameters.md shows them. */
export const PARAMETERS: Readonly<Record<string, ParameterTable>> = {
  '/v1/completions': COMPLETION_PARAMETERS,
  '/v1/chat/completions': CHAT_PARAMETERS,
  '/v1/responses': RESPONSE_PARAMETERS,
  '/v1/load_lora_adapter': LOAD_PARAMETERS,
  '/v1/unload_lora_adapter': UNLOAD_PARAMETERS,
  '/tokenize': TOKENIZE_PARAMETERS,
  '/detokenize': DETOKENIZE_PARAMETERS,
}
