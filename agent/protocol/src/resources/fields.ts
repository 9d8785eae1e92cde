/** Fields that several resources share. */
import { z } from 'zod'

export const timestamp = z.string().describe('RFC 3339, UTC')
export const count = z.int().nonnegative()
