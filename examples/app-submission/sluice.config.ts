import { defineConfig } from '../../src/index.ts'
import { submissions } from './machine.ts'

export default defineConfig({ machines: [submissions] })
