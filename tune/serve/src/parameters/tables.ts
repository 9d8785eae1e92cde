/**
 * What a key of a request is here. Every key that the clients of OpenAI and vLLM document has a row: it is
 * done, or refused with the reason, so that nobody gets an answer to another question than was asked.
 */
export type Parameter =
  | { done: string }
  | {
      refused: string
      /** Values that ask for nothing, and are taken. */
      but?: readonly unknown[]
    }

export type ParameterTable = Readonly<Record<string, Parameter>>

const FORM = 'answers are held to no schema or grammar. Ask for the form in the prompt, or offer a tool'
const NO_EFFECT = 'taken; it changes no answer'

/** Keys of both generating routes. */
const SHARED: ParameterTable = {
  model: { done: 'the base by one of its names, or an adapter; the base where it is left out' },
  stream: { done: 'events as they come' },
  stream_options: { done: '`include_usage`, `continuous_usage_stats`; `include_obfuscation` only as false' },
  n: { done: 'so many answers' },
  seed: { done: 'the same tokens again, whatever else is in the batch' },
  stop: { done: 'one text or several' },
  temperature: { done: '0 takes the likeliest token' },
  top_p: { done: 'the likeliest tokens of so much probability' },
  frequency_penalty: { done: 'for each time a token was generated' },
  presence_penalty: { done: 'once for a token that was generated' },
  logit_bias: { done: 'added to the logit of a token, by its id' },
  user: { done: NO_EFFECT },
  top_k: { done: 'the likeliest k tokens; 0 and -1 are all' },
  min_p: { done: 'tokens of at least this share of the likeliest' },
  repetition_penalty: { done: 'for tokens of prompt and answer' },
  stop_token_ids: { done: 'tokens that end an answer' },
  ignore_eos: { done: 'end tokens do not end an answer' },
  min_tokens: { done: 'no end token before so many' },
  include_stop_str_in_output: { done: 'the stop text is part of the answer' },
  skip_special_tokens: { done: 'special tokens are no text, unless false' },
  allowed_token_ids: { done: 'no other tokens are drawn' },
  bad_words: { done: 'texts whose tokens are not generated' },
  truncate_prompt_tokens: {
    done: 'the last so many tokens of the prompt; -1 is what the model has room for',
  },
  add_special_tokens: { done: 'whether a start token is put before the prompt' },
  return_token_ids: { done: 'ids of prompt and answer beside the text' },
  return_tokens_as_token_ids: { done: 'tokens of log-probabilities as `token_id:…`' },
  cache_salt: { refused: 'the cache of prompts is one for all who ask this server' },
  response_format: { refused: FORM, but: [{ type: 'text' }] },
  structured_outputs: { refused: FORM },
  guided_json: { refused: FORM },
  guided_regex: { refused: FORM },
  guided_choice: { refused: FORM },
  guided_grammar: { refused: FORM },
  guided_decoding_backend: { refused: FORM },
  guided_whitespace_pattern: { refused: FORM },
  structural_tag: { refused: FORM },
  best_of: { refused: 'every answer that is generated is given; ask for n', but: [1] },
  use_beam_search: { refused: 'beam search is not there', but: [false] },
  length_penalty: { refused: 'it is for beam search, which is not there', but: [1] },
  early_stopping: { refused: 'it is for beam search, which is not there', but: [false] },
  spaces_between_special_tokens: {
    refused: 'special tokens are put together as the tokenizer does',
    but: [true],
  },
  prompt_logprobs: { refused: 'use echo with logprobs, on /v1/completions' },
  logits_processors: { refused: 'no code of a request is run' },
  priority: { refused: 'requests are served in the order in which they come', but: [0] },
  request_id: { refused: 'the server names requests itself' },
  kv_transfer_params: { refused: 'one server keeps its own cache' },
  vllm_xargs: { refused: 'there are no plug-ins' },
  repetition_detection: { refused: 'an answer goes on until it ends; stop and the penalties bound it' },
  thinking_token_budget: { refused: 'thoughts have no bound of their own; max_tokens bounds the answer' },
  return_sampling_mask: { refused: 'it is not there', but: [false] },
}

const COMPLETION_PARAMETERS: ParameterTable = {
  ...SHARED,
  prompt: { done: 'a text, texts, token ids or lists of them' },
  max_tokens: { done: '16 where it is left out; 0 with echo' },
  echo: { done: 'the prompt before the answer' },
  logprobs: { done: 'up to 20 beside each token; with echo those of the prompt too' },
  best_of: { refused: 'every answer that is generated is given; ask for n', but: ['n'] },
  suffix: { refused: 'the model writes on, it does not fill in' },
  prompt_embeds: { refused: 'prompts are text or tokens' },
}

const CHAT_PARAMETERS: ParameterTable = {
  ...SHARED,
  messages: { done: 'the conversation, by the template of the model; content in text parts' },
  max_tokens: { done: 'what the model has room for where it is left out' },
  max_completion_tokens: { done: 'the same, by its newer name' },
  logprobs: { done: 'of the tokens of the answer' },
  top_logprobs: { done: 'up to 20 beside each token' },
  tools: { done: 'functions, shown by the template' },
  tool_choice: { done: '`none`, `auto`; `required` or a function begins a call, which the model ends' },
  parallel_tool_calls: { refused: 'the model calls as often as it will', but: [true] },
  chat_template_kwargs: { done: 'variables of the template, such as `enable_thinking`' },
  add_generation_prompt: { done: 'false leaves out the header that begins an answer' },
  continue_final_message: { done: 'the last message goes on; with add_generation_prompt false' },
  documents: { refused: 'put them into a message' },
  chat_template: { refused: 'a template is code, and that of the server is used (--chat-template)' },
  echo: { refused: 'a reply has only what is new', but: [false] },
  include_reasoning: { refused: 'thoughts come as reasoning_content and can be left unread', but: [true] },
  reasoning_effort: {
    refused:
      'the template has no efforts; chat_template_kwargs {"enable_thinking": false} turns thoughts off',
  },
  mm_processor_kwargs: { refused: 'this model reads text' },
  media_io_kwargs: { refused: 'this model reads text' },
  functions: { refused: 'use tools' },
  function_call: { refused: 'use tool_choice' },
  audio: { refused: 'this model writes text' },
  modalities: { refused: 'this model writes text', but: [['text']] },
  prediction: { refused: 'nothing is predicted from a draft' },
  web_search_options: { refused: 'the model searches nothing; offer a tool' },
  store: { refused: 'nothing is stored', but: [false] },
  metadata: { done: NO_EFFECT },
  service_tier: { done: NO_EFFECT },
  safety_identifier: { done: NO_EFFECT },
  prompt_cache_key: { done: 'taken; prompts are found in the cache by their tokens' },
  prompt_cache_retention: { done: 'taken; what is cached stays as long as there is room' },
  prompt_cache_options: { done: 'taken; what is cached stays as long as there is room' },
  moderation: { refused: 'nothing is moderated' },
  verbosity: { refused: 'the template has no levels of it; say so in a message' },
}

const LOAD_PARAMETERS: ParameterTable = {
  lora_name: { done: 'what requests call the adapter' },
  lora_path: { done: 'its directory on the server' },
  load_inplace: { refused: 'unload the adapter first, so that nobody is answered by two', but: [false] },
  is_3d_lora_weight: { refused: 'an adapter has matrices', but: [false] },
  base_model_name: { refused: 'the server has one base' },
}

const UNLOAD_PARAMETERS: ParameterTable = {
  lora_name: { done: 'the adapter' },
  lora_int_id: { refused: 'adapters go by their names' },
}

const TOKENIZE_PARAMETERS: ParameterTable = {
  model: { done: 'the base or an adapter, whose tokens are the same' },
  prompt: { done: 'a text' },
  messages: { done: 'a conversation, by the template of the model' },
  tools: { done: 'functions, shown by the template' },
  add_special_tokens: { done: 'whether a start token is put before a prompt' },
  add_generation_prompt: { done: 'false leaves out the header that begins an answer' },
  continue_final_message: { done: 'the last message goes on' },
  chat_template_kwargs: { done: 'variables of the template' },
  return_token_strs: { done: 'the text of each token too' },
  chat_template: { refused: 'a template is code, and that of the server is used (--chat-template)' },
  mm_processor_kwargs: { refused: 'this model reads text' },
}

const DETOKENIZE_PARAMETERS: ParameterTable = {
  model: { done: 'the base or an adapter, whose tokens are the same' },
  tokens: { done: 'ids of tokens' },
}

/** Tables by route, as docs/tune/parameters.md shows them. */
export const PARAMETERS: Readonly<Record<string, ParameterTable>> = {
  '/v1/completions': COMPLETION_PARAMETERS,
  '/v1/chat/completions': CHAT_PARAMETERS,
  '/v1/load_lora_adapter': LOAD_PARAMETERS,
  '/v1/unload_lora_adapter': UNLOAD_PARAMETERS,
  '/tokenize': TOKENIZE_PARAMETERS,
  '/detokenize': DETOKENIZE_PARAMETERS,
}
