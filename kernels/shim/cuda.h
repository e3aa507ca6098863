// Minimal CUDA-on-host shim: one block at a time, one fiber per CUDA thread, cooperative barriers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <algorithm>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>
#if defined(SHIM_BOOST)
#include <boost/context/detail/fcontext.hpp>
#else
#include <ucontext.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#define SHIM_ASAN 1
#endif
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __shared__ static
#define __constant__ static
struct dim3 { unsigned x=1,y=1,z=1; constexpr dim3(unsigned a=1,unsigned b=1,unsigned c=1):x(a),y(b),z(c){} };
namespace shim {
constexpr int kWarp = 32;
enum class St : uint8_t { ready, block_bar, warp_bar, done };
struct Fiber { St st; dim3 tid; unsigned lin; unsigned mask; const void* site;
#if defined(SHIM_BOOST)
  boost::context::detail::fcontext_t ctx;
#else
  ucontext_t ctx;
#endif
  char* stack=nullptr; void* fake=nullptr; uint64_t xchg; };
struct Block {
  std::vector<Fiber> f; dim3 grid, block, bid; Fiber* cur=nullptr; std::vector<std::byte> smem; std::function<void()> body; size_t stack=64*1024; uint64_t switches=0; uint64_t seed=0; std::mt19937_64 rng; bool shuffle_order=false; std::exception_ptr err;
#if defined(SHIM_BOOST)
  boost::context::detail::fcontext_t sched;
#else
  ucontext_t sched;
#endif
  void* sched_fake=nullptr; const void* sched_bottom=nullptr; size_t sched_size=0;
};
inline thread_local Block* B = nullptr;
inline void to_sched() {
  Block* b=B; Fiber* me=b->cur; b->switches++;
#if defined(SHIM_ASAN)
  __sanitizer_start_switch_fiber(me->st==St::done?nullptr:&me->fake, b->sched_bottom, b->sched_size);
#endif
#if defined(SHIM_BOOST)
  b->sched = boost::context::detail::jump_fcontext(b->sched, nullptr).fctx;
#else
  swapcontext(&me->ctx,&b->sched);
#endif
#if defined(SHIM_ASAN)
  __sanitizer_finish_switch_fiber(me->fake,&b->sched_bottom,&b->sched_size);
#endif
}
inline void entry_common(){ 
#if defined(SHIM_ASAN)
  __sanitizer_finish_switch_fiber(nullptr,&B->sched_bottom,&B->sched_size);
#endif
  try { B->body(); } catch(...) { if(!B->err) B->err=std::current_exception(); }
  B->cur->st=St::done; to_sched(); std::abort(); }
#if defined(SHIM_BOOST)
inline void entry(boost::context::detail::transfer_t t){ B->sched=t.fctx; entry_common(); }
#else
inline void entry(){ entry_common(); }
#endif
inline void resume(Fiber& fb){ Block* b=B; b->cur=&fb;
#if defined(SHIM_ASAN)
  __sanitizer_start_switch_fiber(&b->sched_fake, fb.stack, b->stack);
#endif
#if defined(SHIM_BOOST)
  auto t=boost::context::detail::jump_fcontext(fb.ctx,nullptr); if(fb.st!=St::done) fb.ctx=t.fctx;
#else
  swapcontext(&b->sched,&fb.ctx);
#endif
#if defined(SHIM_ASAN)
  __sanitizer_finish_switch_fiber(b->sched_fake,nullptr,nullptr);
#endif
  b->cur=nullptr; }
inline void run_block(Block& b){ B=&b; unsigned n=b.block.x*b.block.y*b.block.z; if(b.f.size()<n) b.f.resize(n);
  for(unsigned i=0;i<n;i++){ auto&fb=b.f[i]; fb.st=St::ready; fb.lin=i; fb.tid={i%b.block.x,(i/b.block.x)%b.block.y,i/(b.block.x*b.block.y)};
    if(!fb.stack) fb.stack=(char*)aligned_alloc(4096,b.stack);
#if defined(SHIM_BOOST)
    fb.ctx=boost::context::detail::make_fcontext(fb.stack+b.stack,b.stack,entry);
#else
    getcontext(&fb.ctx); fb.ctx.uc_stack.ss_sp=fb.stack; fb.ctx.uc_stack.ss_size=b.stack; fb.ctx.uc_link=nullptr; makecontext(&fb.ctx,(void(*)())entry,0);
#endif
  }
  std::vector<unsigned> ord(n); for(unsigned i=0;i<n;i++)ord[i]=i;
  for(;;){ bool progress=false; if(b.shuffle_order) std::shuffle(ord.begin(),ord.end(),b.rng);
    for(unsigned i:ord) if(b.f[i].st==St::ready){ resume(b.f[i]); progress=true; if(b.err) std::rethrow_exception(b.err); }
    // warp barriers
    for(unsigned w=0;w<n;w+=kWarp){ unsigned e=std::min(n,w+kWarp); unsigned at=0,mask=0; bool mism=false; for(unsigned i=w;i<e;i++) if(b.f[i].st==St::warp_bar){ if(at && (mask!=b.f[i].mask)) mism=true; at|=1u<<(i-w); mask=b.f[i].mask; }
      if(at){ if(mism) throw std::runtime_error("shim: warp mask mismatch"); unsigned valid=(e-w==32)?~0u:((1u<<(e-w))-1); unsigned need=mask&valid; if((at&need)==need){ if(at!=need) throw std::runtime_error("shim: lane outside mask at warp barrier"); for(unsigned i=w;i<e;i++) if(at>>(i-w)&1) b.f[i].st=St::ready; progress=true; } } }
    unsigned done=0,bar=0; for(unsigned i=0;i<n;i++){ done+=b.f[i].st==St::done; bar+=b.f[i].st==St::block_bar; }
    if(done==n) break;
    if(bar && bar+done==n){ if(done) throw std::runtime_error("shim: __syncthreads reached by only part of the block"); for(unsigned i=0;i<n;i++) b.f[i].st=St::ready; progress=true; }
    if(!progress) throw std::runtime_error("shim: deadlock (divergent barrier)"); }
}
struct Opt { bool shuffle=false; uint64_t seed=1; };
inline Opt& opt(){ static Opt o; return o; }
inline uint64_t total_switches=0;
template<class K,class...A> void launch(void*,dim3 g,dim3 bl,size_t smem,K k,A...a){ static thread_local Block b; b.grid=g;b.block=bl;b.shuffle_order=opt().shuffle;b.rng.seed(opt().seed); b.err=nullptr; b.switches=0;
  b.body=[&]{ k(a...); };
  std::vector<dim3> bids; for(unsigned z=0;z<g.z;z++)for(unsigned y=0;y<g.y;y++)for(unsigned x=0;x<g.x;x++)bids.push_back({x,y,z}); if(b.shuffle_order) std::shuffle(bids.begin(),bids.end(),b.rng);
  for(auto&id:bids){ b.bid=id; b.smem.assign(smem,std::byte{0xA5}); run_block(b);} total_switches+=b.switches; }
template<class T> inline T* dyn(){ return reinterpret_cast<T*>(B->smem.data()); }
inline uint64_t warp_xchg(unsigned mask,uint64_t v,int src){ Block*b=B; Fiber*me=b->cur; unsigned w=me->lin/kWarp*kWarp; me->xchg=v; me->mask=mask; me->st=St::warp_bar; to_sched(); uint64_t r=b->f[w+src].xchg; me->mask=mask; me->st=St::warp_bar; to_sched(); return r; }
inline unsigned lane(){ return B->cur->lin%kWarp; }
}
#define threadIdx (shim::B->cur->tid)
#define blockIdx (shim::B->bid)
#define blockDim (shim::B->block)
#define gridDim (shim::B->grid)
#define warpSize 32
inline void __syncthreads(){ shim::B->cur->st=shim::St::block_bar; shim::to_sched(); }
inline void __syncwarp(unsigned m=~0u){ auto*c=shim::B->cur; c->mask=m; c->st=shim::St::warp_bar; shim::to_sched(); }
template<class T> T shim_shfl(unsigned m,T v,int src){ uint64_t u=0; std::memcpy(&u,&v,sizeof v); u=shim::warp_xchg(m,u,src); T r; std::memcpy(&r,&u,sizeof r); return r; }
template<class T> T __shfl_sync(unsigned m,T v,int s,int=32){ return shim_shfl(m,v,s&31); }
template<class T> T __shfl_xor_sync(unsigned m,T v,int x,int=32){ return shim_shfl(m,v,(int)(shim::lane()^x)); }
template<class T> T __shfl_down_sync(unsigned m,T v,int d,int=32){ int l=shim::lane(); return shim_shfl(m,v,l+d>31?l:l+d); }
template<class T> T __shfl_up_sync(unsigned m,T v,int d,int=32){ int l=shim::lane(); return shim_shfl(m,v,l-d<0?l:l-d); }
inline unsigned __ballot_sync(unsigned m,int p){ unsigned r=0; auto*b=shim::B; auto*me=b->cur; unsigned w=me->lin/32*32; me->xchg=p!=0; me->mask=m; me->st=shim::St::warp_bar; shim::to_sched(); for(int i=0;i<32;i++) if((m>>i&1)&&w+i<b->block.x*b->block.y*b->block.z) r|=(unsigned)b->f[w+i].xchg<<i; me->mask=m; me->st=shim::St::warp_bar; shim::to_sched(); return r; }
template<class T> T atomicAdd(T*p,T v){ return __atomic_fetch_add(p,v,__ATOMIC_RELAXED); }
inline float atomicAdd(float*p,float v){ float o=*p; *p=o+v; return o; }
inline int atomicMax(int*p,int v){ int o=*p; if(v>o)*p=v; return o; }
inline int __popc(unsigned x){ return __builtin_popcount(x); }
inline int __ffs(int x){ return __builtin_ffs(x); }
template<class T> T __ldg(const T*p){ return *p; }

namespace afore::shim { using namespace ::shim; inline void* dynamic_shared() { return ::shim::B->smem.data(); } }
using cudaStream_t = struct CUstream_st*;
enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1 };
