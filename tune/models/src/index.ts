/**
 * Models: a table of families and one recorder that reads it; nothing here computes.
 *
 * weights  records a base weight by its Hugging Face name
 * adapter  the two small matrices that LoRA trains
 * linear   a matmul by a weight, with or without an adapter
 * packed   documents one after another in one row of tokens
 */
export { configJsonText, parseModelConfig, readModelConfig } from './config-json.ts'
export { FAMILIES, FAMILY_NAMES, familyOf, type Family, type FamilyName, type GgufNames } from './families.ts'
export * from './layer-parts.ts'
export * from './lora.ts'
export * from './lora-ranks.ts'
export * from './model-config.ts'
export * from './model-parts.ts'
export * from './record-model.ts'
export * from './rope.ts'
