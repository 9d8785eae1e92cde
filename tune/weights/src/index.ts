/**
 * Models on disk.
 *
 * checkpoint  the weights of a model directory      shard      one of the files a checkpoint is split into
 * hub cache   the folder of downloaded models       snapshot   one revision of a model there
 */
export {
  EMBEDDINGS,
  HEAD,
  changeMismatch,
  changedShape,
  changedWeight,
  withTiedHead,
  type WeightChange,
} from './adapter-changes.ts'
export type { AdapterTensor, AdapterVector, StoredTensor } from './adapter-tensor.ts'
export { openFileBytes, type ByteSource } from './byte-source.ts'
export {
  checkBase,
  convertedWeights,
  createF32Loader,
  loadBase,
  loadingBytes,
  openMappedCheckpoint,
  plainDtype,
} from './base-weights.ts'
export { createConverter } from './converter.ts'
export { openMapped } from './mapped-file.ts'
export { withThoughts } from './thoughts.ts'
export { MODEL_TEXTS, TOKENIZER_TEXTS, readModelText, type ModelText } from './model-texts.ts'
export type { BaseWeight, Checkpoint, ExpertSlice, StoredWeight } from './checkpoint.ts'
export { openCheckpoint } from './open-checkpoint.ts'
export { EXPERT_PARAMETERS, fuseStacks, type AdapterStack } from './fused-experts.ts'
export {
  EXPERT_NAMES,
  MIXTRAL_EXPERT_NAMES,
  expertNamesOf,
  linearsOf,
  matricesOf,
  missingExperts,
  storedName,
  type ExpertNames,
} from './experts.ts'
export { InputError, UnsupportedError } from './errors.ts'
export { WriteError, makeDirectories, makeDirectory, withPath } from './fs-errors.ts'
export { FLOAT_DTYPES, decodeFloats, encodeFloats, findNotFinite, type FloatDtype } from './float-values.ts'
export { checkTensor, openSafetensors, type Safetensors } from './safetensors.ts'
export {
  SAFETENSORS_BITS,
  byteLengthOf,
  type SafetensorsDtype,
  type TensorEntry,
} from './safetensors-header.ts'
export { inFileOrder, writeCheckpoint, writeSafetensors, type TensorToWrite } from './safetensors-writer.ts'
export { writeAll, writeAtomically, writeTextAtomically } from './atomic-file.ts'
export { mxfp4Names, mxfp4Tensors } from './mxfp4-experts.ts'
export { detectQuantization } from './quantization-config.ts'
export { QUANTIZED_LAYOUTS, layoutOf, readWeight, type QuantizedLayout } from './quantized.ts'
export {
  GGUF_EXPORT_TYPES,
  exportGgufModel,
  type GgufExportType,
  type ModelToExport,
} from './gguf/export-model.ts'
export { exportGgufAdapter } from './gguf/export-adapter.ts'
export { hubCacheRoot, type Environment, type RepoType } from './hub-cache.ts'
export { type Progress } from './hub-download.ts'
export { isFeedForward, matchesLinear, matchesPattern, ofPattern } from './rank-pattern.ts'
export { adapterBase, type AdapterConfig } from './peft-config.ts'
export { resolveRepo, type ResolveOptions } from './hub.ts'
export { ExactNumber, exactJson, parseExact, pythonNumber } from '@cairn-tune/templates'
export type { Chat, ChatMessage, ChatTemplates, RenderOptions } from './chat.ts'
export { compileChatTemplate, type ChatPiece, type ChatTemplate } from './chat-template.ts'
export { copyTemplates, templatesIn, templatesText, writeTemplates } from './chat-templates.ts'
export { readTemplate } from './given-template.ts'
export type { MarkedTokens } from './marked-tokens.ts'
export { loadTokenizer, readTokenizerTexts, type ModelTokenizer } from './tokenizer.ts'
export {
  readAdapter,
  readStoredAdapter,
  writeAdapter,
  type Adapter,
  type AdapterLimits,
  type StoredAdapter,
} from './peft-adapter.ts'
