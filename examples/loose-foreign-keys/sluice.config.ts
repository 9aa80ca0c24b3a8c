import { defineConfig } from '../../src/index.ts'
import { cleanUpChildren } from './operations.ts'

export default defineConfig({ operations: [cleanUpChildren] })
