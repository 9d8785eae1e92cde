/** The tables of all routes. */
import { NO_EFFECT, type ParameterTable } from './parameter.ts'
import { RESPONSE_PARAMETERS } from './response-table.ts'

const FORM = 'its name now is structured_outputs, with json, regex, choice or grammar'

/** Keys of both generating routes. */
const SHARED: ParameterTable = {
  model: { done: 'one of the names of the base, or an adapter; the base by default' },
  stream: { done: 'server-sent events as tokens are generated' },
  stream_options: { done: '`include_usage`, `continuous_usage_stats`; `include_obfuscation` only as false' },
  n: { done: 'number of answers for each prompt' },
  seed: { done: 'the same seed draws the same tokens, whatever else is in the batch' },
  stop: { done: 'one text or several that end the answer' },
  temperature: { done: '0 takes the most likely token (greedy)' },
  top_p: { done: 'only the most likely tokens whose probabilities add up to this' },
  frequency_penalty: { done: "subtracted from a token's logit once for each time it was generated" },
  presence_penalty: { done: 'subtracted once from the logit of a token that was generated' },
  logit_bias: { done: 'added to the logit of a token, by its id' },
  user: { done: NO_EFFECT },
  top_k: { done: 'only the k most likely tokens; 0 and -1 mean all' },
  min_p: { done: 'only tokens with at least this fraction of the highest probability' },
  repetition_penalty: { done: 'divides or multiplies the logits of tokens in the prompt and the answer' },
  stop_token_ids: { done: 'ids of tokens that end an answer' },
  ignore_eos: { done: 'end tokens do not end an answer' },
  min_tokens: { done: 'no end token before this many tokens' },
  include_stop_str_in_output: { done: 'the stop text is part of the answer' },
  skip_special_tokens: { done: 'special tokens are left out of the text, unless false' },
  allowed_token_ids: { done: 'ids of the only tokens that may be drawn' },
  bad_words: { done: 'texts whose tokens are not generated' },
  truncate_prompt_tokens: {
    done: 'only the last tokens of the prompt, up to this many; -1 means as many as fit the context',
  },
  add_special_tokens: { done: 'whether the start token is put before the prompt' },
  return_token_ids: { done: 'the token ids of prompt and answer, beside the text' },
  return_tokens_as_token_ids: { done: 'log-probabilities name tokens as `token_id:…`' },
  cache_salt: { refused: 'the prefix cache is shared by all clients of this server' },
  response_format: { done: '`text`, `json_object`, `json_schema`; the answer always has the form' },
  structured_outputs: { done: 'one of `json`, `regex`, `choice`, `grammar`, `json_object`, as in vLLM' },
  guided_json: { refused: FORM },
  guided_regex: { refused: FORM },
  guided_choice: { refused: FORM },
  guided_grammar: { refused: FORM },
  guided_decoding_backend: { refused: 'there is one engine' },
  guided_whitespace_pattern: { refused: 'white space is none, a space, or a new line with indentation' },
  structural_tag: { refused: 'offer tools instead' },
  best_of: { refused: 'every generated answer is returned; use n', but: [1] },
  use_beam_search: { refused: 'beam search is not supported', but: [false] },
  length_penalty: { refused: 'it is for beam search, which is not supported', but: [1] },
  early_stopping: { refused: 'it is for beam search, which is not supported', but: [false] },
  spaces_between_special_tokens: {
    refused: 'special tokens are joined as the tokenizer joins them',
    but: [true],
  },
  prompt_logprobs: { refused: 'use echo with logprobs, on /v1/completions' },
  logits_processors: { refused: 'the server runs no code of a client' },
  priority: { refused: 'requests are served in the order of arrival', but: [0] },
  request_id: { refused: 'the server names requests itself' },
  kv_transfer_params: { refused: 'the server does not share its cache with others' },
  vllm_xargs: { refused: 'there are no plug-ins to pass it to' },
  repetition_detection: { refused: 'repetition does not end an answer; use stop or the penalties' },
  thinking_token_budget: { refused: 'thinking has no limit of its own; max_tokens limits the whole answer' },
  return_sampling_mask: { refused: 'it is not supported', but: [false] },
  truncation_side: { refused: 'truncate_prompt_tokens keeps the last tokens', but: ['left'] },
  logprob_token_ids: { refused: 'log-probabilities are of the likeliest tokens; see logprobs' },
  stream_interval: { refused: 'an event is sent for each token', but: [1] },
  session_id: { refused: 'requests are not tied to each other; send the whole prompt' },
  return_token_offsets: { refused: 'a reply has no places in texts', but: [false] },
  return_weight_versions: { refused: 'weights do not change while the server runs', but: [false] },
  routed_experts_prompt_start: { refused: 'a reply does not say which experts were chosen', but: [0] },
  watermarking: { refused: 'there are no watermarks', but: [false] },
  ec_transfer_params: { refused: 'the server does not share its cache with others' },
  mm_payload: { refused: 'this model reads only text' },
  return_mm_kwargs: { refused: 'this model reads only text' },
}

const COMPLETION_PARAMETERS: ParameterTable = {
  ...SHARED,
  prompt: { done: 'a text or token ids, or a list of either' },
  max_tokens: { done: '16 by default; 0 is allowed with echo' },
  echo: { done: 'the prompt before the answer' },
  logprobs: { done: 'up to 20 alternatives for each token; with echo for the prompt too' },
  best_of: { refused: 'every generated answer is returned; use n', but: ['n'] },
  suffix: { refused: 'the model continues a text and cannot fill in a gap' },
  prompt_embeds: { refused: 'prompts are text or token ids' },
}

const CHAT_PARAMETERS: ParameterTable = {
  ...SHARED,
  messages: { done: "the conversation, rendered by the model's template; content is text or text parts" },
  max_tokens: { done: 'by default as many as fit the context' },
  max_completion_tokens: { done: 'the newer name of max_tokens' },
  logprobs: { done: "log-probabilities of the answer's tokens" },
  top_logprobs: { done: 'up to 20 alternatives for each token' },
  tools: { done: 'functions, given to the template' },
  tool_choice: {
    done: '`none`, `auto`; with `required` or a function the answer is always a valid call',
  },
  parallel_tool_calls: { refused: 'the model decides how many tools it calls', but: [true] },
  chat_template_kwargs: { done: 'variables for the template, such as `enable_thinking`' },
  add_generation_prompt: { done: 'false leaves out the header that begins an answer' },
  continue_final_message: {
    done: 'the answer continues the last message; needs add_generation_prompt false',
  },
  documents: { refused: 'put their text into a message' },
  chat_template: { refused: 'a template is code; set it when the server starts (--chat-template)' },
  echo: { refused: 'a reply holds only the new text', but: [false] },
  include_reasoning: {
    refused: 'thinking is always sent, as reasoning_content; ignore it if unwanted',
    but: [true],
  },
  reasoning_effort: {
    refused:
      'the template has no effort levels; chat_template_kwargs {"enable_thinking": false} turns thinking off',
  },
  mm_processor_kwargs: { refused: 'this model reads only text' },
  media_io_kwargs: { refused: 'this model reads only text' },
  return_prompt_text: { refused: 'return_token_ids gives the tokens of the prompt', but: [false] },
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
  prompt_cache_key: { done: 'accepted; the prefix cache finds prompts by their tokens' },
  prompt_cache_retention: { done: 'accepted; what is cached stays as long as there is space' },
  prompt_cache_options: { done: 'accepted; what is cached stays as long as there is space' },
  moderation: { refused: 'there is no moderation' },
  verbosity: { refused: 'the template has no such levels; ask for it in a message' },
}

const LOAD_PARAMETERS: ParameterTable = {
  lora_name: { done: 'the name that requests give as model' },
  lora_path: { done: 'its directory on the server' },
  load_inplace: {
    refused: 'unload the adapter first, so that no answer comes from two adapters',
    but: [false],
  },
  is_3d_lora_weight: { refused: 'only adapters of two-dimensional matrices are supported', but: [false] },
  base_model_name: { refused: 'the server has only one base' },
}

const UNLOAD_PARAMETERS: ParameterTable = {
  lora_name: { done: 'the name of the adapter' },
  lora_int_id: { refused: 'adapters are identified by their names' },
}

const TOKENIZE_PARAMETERS: ParameterTable = {
  model: { done: 'the base or an adapter; both have the same tokens' },
  prompt: { done: 'a text' },
  messages: { done: "a conversation, rendered by the model's template" },
  tools: { done: 'functions, given to the template' },
  add_special_tokens: { done: 'whether the start token is put before a prompt' },
  add_generation_prompt: { done: 'false leaves out the header that begins an answer' },
  continue_final_message: { done: 'the rendering continues the last message' },
  chat_template_kwargs: { done: 'variables for the template' },
  return_token_strs: { done: 'also return the text of each token' },
  chat_template: { refused: 'a template is code; set it when the server starts (--chat-template)' },
  mm_processor_kwargs: { refused: 'this model reads only text' },
  media_io_kwargs: { refused: 'this model reads only text' },
}

const DETOKENIZE_PARAMETERS: ParameterTable = {
  model: { done: 'the base or an adapter; both have the same tokens' },
  tokens: { done: 'ids of tokens' },
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
