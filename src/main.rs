//! The `goblin` program: hands the command line to the library and ends with its status.

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> std::process::ExitCode {
    goblin::app::main()
}
