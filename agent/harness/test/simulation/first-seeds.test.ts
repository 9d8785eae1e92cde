/** Half of the thousand: two files, so that two cores share them. */
import { defineSeeds } from './seeds.ts'

defineSeeds(1, 500)
