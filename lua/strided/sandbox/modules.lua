--- The modules that the library's own functions load when they are first
-- called: a sandbox loads all when it is closed, and nothing later. Modules
-- that these load at once need no entry.
-- What is left out is for sessions, for workers and for language servers.
--
-- @module strided.sandbox.modules

return [[
amp argument.callable argument.caller_error array_api autograd
autograd.checkpoint autograd.gradcheck data data.collate data.dataset
data.loader data.message data.prefetch data.sampler data.transforms
distributions distributions.base distributions.composed
distributions.constraint distributions.constraint_registry
distributions.continuous distributions.discrete
distributions.exponential_family distributions.gamma distributions.kl
distributions.multivariate distributions.pareto distributions.relaxed
distributions.transform distributions.transform_class
distributions.transform_compound explain expression expression.lexer
expression.operators fuse help.catalogue help.comments help.documents
help.examples help.examples.elements help.examples.fields
help.examples.functions help.examples.gradients help.examples.more
help.examples.networks help.examples.numbers help.examples.rare
help.examples.shapes help.functions help.functions_in_c help.groups help.manual
help.operator help.pages help.pages.absent help.pages.autograd
help.pages.broadcasting help.pages.devices help.pages.dtypes help.pages.errors
help.pages.functional help.pages.indexing help.pages.layout help.pages.memory
help.pages.plot help.pages.random help.pages.session help.search help.topics
help.wrap io.buffer io.chunks io.csv io.csv.read io.csv.text io.csv.write
io.failure io.file io.image io.json io.kinds io.meter io.npy io.npz io.pickle
io.pickle.literals io.pickle.numpy io.pt io.pt.tensors io.pt.writer io.raw
io.reader io.replace io.safetensors io.share io.strided_view io.t7 io.tree
io.utf8 io.values io.zip iterator layout layout.svg library lobpcg masked
name.families name.guard name.method_names name.unknown_name nn nn.activation
nn.adaptive_softmax nn.attention nn.attention_blocks nn.container nn.conv
nn.dropout nn.embedding nn.functional nn.init nn.layer nn.linear nn.loss
nn.module nn.module.declare nn.module.hooks nn.module.new_parameter
nn.module.state nn.module.text nn.norm nn.packed nn.padding nn.parametrize
nn.pool nn.recurrent nn.summary nn.transformer nn.utils nn.vision
nn.weight_norm optim optim.adafactor optim.adagrad optim.adam optim.check
optim.fused optim.lbfgs optim.line_search optim.lr_scheduler
optim.lr_scheduler.composed optim.lr_scheduler.cycle optim.lr_scheduler.decay
optim.lr_scheduler.scheduler optim.muon optim.optimizer optim.sgd
optim.state_dict optim.swa_utils option.options option.unknown_option plot
plot.colours plot.frame plot.path plot.pixels plot.png plot.series plot.svg
plot.terminal plot.text plot.ticks plot.words printing profile profile.chrome
profile.hints profile.table profile.units progress session.help session.show
tensor.comparison tensor.tensor_methods timeit
]]
