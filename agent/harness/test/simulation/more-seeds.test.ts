/** The other half of the thousand. */
import { defineSeeds } from './seeds.ts'

defineSeeds(501, 500)
