/** Forms of the names that the configuration uses. */
import { z } from 'zod'

export const name = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'must contain only letters, digits, dots, dashes and underscores')
export const modelName = z.string().regex(/^[^/\s]+\/\S+$/, 'must have the form <provider>/<model>')
export const envName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable')
